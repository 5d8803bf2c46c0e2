"""Ten tasks of a curator through `taco-studio mcp`, with the client of the protocol's own library, and what is refused.

agent_tasks.py PROGRAM FOLDER: FOLDER has the dataset `set.tacozip`, the folder `scenes` with files, `collection.json`, `secret.txt` in
the folder above, and `up`, a link to that one.
"""

import asyncio
import json
import sys

from mcp import ClientSession, StdioServerParameters, stdio_client

program, folder = sys.argv[1:3]


async def serving(*options, work):
    """Calls `work` with a session of a server that was started with these options."""
    server = StdioServerParameters(command=program, args=["mcp", folder, *options])
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        return await work(session)


async def call(session, tool, **request):
    """The answer of a tool that succeeds."""
    result = await session.call_tool(tool, request)
    assert not result.is_error, (tool, result.content[0].text)
    assert json.loads(result.content[0].text) == result.structured_content
    return result.structured_content


async def refused(session, tool, *words, **request):
    """The error of a tool that fails, whose message and hints have these words."""
    result = await session.call_tool(tool, request)
    assert result.is_error, (tool, request, result.structured_content)
    text = json.dumps(result.structured_content)
    for word in words:
        assert word in text, (word, text)
    return result.structured_content


async def reading(session):
    tools = {tool.name: tool for tool in (await session.list_tools()).tools}
    reads = ["extensions", "inspect", "leakage", "percentiles", "query", "rules", "stats", "validate"]
    assert sorted(tools) == reads and all(tool.annotations.read_only_hint for tool in tools.values()), sorted(tools)
    for tool in tools.values():
        assert tool.description and tool.input_schema["type"] == "object", tool.name
        assert "[`" not in json.dumps(tool.input_schema), tool.name
    assert folder in session.instructions and "--allow-write" in session.instructions, session.instructions

    # 1. What is this dataset?
    seen = (await call(session, "inspect", input="set.tacozip"))["output"]
    rows = [level["rows"] for level in seen["levels"]]
    assert seen["format"] == "zip" and rows[0] > 0, seen["format"]
    # 2. How many samples has it, of which kind?
    counted = (await call(session, "query", input="set.tacozip", sql="SELECT count(*) AS n FROM level0"))["output"]
    assert counted["rows"] == [{"n": rows[0]}], counted
    # 3. Long answers are shortened to the rows of a page, unless the request says otherwise.
    page = (await call(session, "query", input="set.tacozip", sql="SELECT a.id FROM level1 a, level1 b, level1 c LIMIT 5000"))["output"]
    assert page["truncated"] and len(page["rows"]) == 200, len(page["rows"])
    # 4. Does it break a rule?
    checked = await call(session, "validate", input="set.tacozip", deep=True)
    assert checked["sound"], checked
    # 5. What can be computed, what is checked?
    names = [entry["name"] for entry in (await call(session, "extensions"))["output"]]
    assert "stats" in names and "stac" in names, names
    assert len((await call(session, "rules"))["output"]) > 50

    await refused(session, "inspect", "outside the folders", input="../secret.txt")
    await refused(session, "inspect", "outside the folders", input="/etc/passwd")
    await refused(session, "inspect", "outside the folders", input="up/secret.txt")
    await refused(session, "inspect", "outside the folders", input="https://127.0.0.1:9/a.tacozip")
    error = await refused(session, "inspect", "could not", input="none.tacozip")
    assert error["kind"] == "io" and error["hints"], error
    await refused(session, "query", "no field filter", "write filters", filter=[])
    await refused(session, "query", "nothing", input="set.tacozip", sql="SELECT nothing FROM data")
    await refused(session, "convert", "--allow-write", input="set.tacozip", options={"target": "copy", "format": "folder"})
    await refused(session, "no_such_tool", "there is no operation")


async def writing(session):
    tools = {tool.name: tool.annotations.read_only_hint for tool in (await session.list_tools()).tools}
    assert {"create", "extend", "export", "describe"} <= {name for name, reads in tools.items() if not reads}, tools
    # 6. A dataset of a folder of files, with progress.
    stages = []

    async def progress(done, total, message):
        stages.append((done, total, message))

    request = {"source": "scenes", "collection": "collection.json", "options": {"target": "made.tacozip", "format": "zip"}}
    result = await session.call_tool("create", request, progress_callback=progress)
    assert not result.is_error, result.content[0].text
    made = result.structured_content["output"]
    assert made["path"].endswith("made.tacozip") and made["samples"] > 0, made
    await refused(session, "create", "exists already", **request)
    # 7. With statistics of the rasters.
    target = {"target": "extended.tacozip", "format": "zip"}
    calls = [{"extension": "stats", "target": {"level": 1}}]
    await call(session, "extend", input="made.tacozip", calls=calls, options=target)
    # 8. A part of it, in another container.
    await call(session, "export", input="extended.tacozip", limit=1, options={"target": "part", "format": "folder"})
    # 9. A data card.
    await call(session, "describe", input="part", form="markdown", output="card.md")
    # 10. Valid in the end.
    assert (await call(session, "validate", input="part"))["sound"]

    await refused(session, "convert", "outside the folders", input="part", options={"target": "../out.tacozip", "format": "zip"})
    await refused(session, "convert", "outside the folders", input="part", options={"target": "up/out.tacozip", "format": "zip"})
    # The plan is not read before its folder is admitted.
    await refused(session, "finish_plan", "outside the folders", folder="../plan")
    target = {"target": "catalogue.tacozip", "format": "zip"}
    await refused(session, "create", "catalogue", source="catalogue.json", collection="collection.json", options=target)
    program = {"extension": "command", "options": {"command": ["touch", "started"], "fields": {"a:b": "int64"}}, "target": {"level": 0}}
    target = {"target": "run.tacozip", "format": "zip"}
    await refused(session, "extend", "--allow-commands", "touch", input="made.tacozip", calls=[program], options=target)


async def main():
    await serving(work=reading)
    await serving("--allow-write", work=writing)
    print("ten tasks done, refusals as they should be")


asyncio.run(main())
