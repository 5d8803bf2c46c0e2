/* interrupt PATTERN COMMAND: runs the command in a console, and sends Ctrl-C to the console as soon as a file matches the pattern.
   Ends with the exit code of the command, with 254 when no file came, with 253 when the command did not end. */
#include <windows.h>

static BOOL WINAPI stay(DWORD event) { (void)event; return TRUE; }

int main(int count, char **arguments) {
  STARTUPINFOA start = {sizeof start};
  PROCESS_INFORMATION command;
  WIN32_FIND_DATAA found;
  HANDLE match = INVALID_HANDLE_VALUE;
  DWORD code = 255;
  if (count != 3) return 255;
  FreeConsole();
  AllocConsole();
  SetConsoleCtrlHandler(stay, TRUE);
  if (!CreateProcessA(0, arguments[2], 0, 0, FALSE, 0, 0, 0, &start, &command)) return 255;
  for (int tries = 0; tries < 3000 && match == INVALID_HANDLE_VALUE; tries++) {
    if (WaitForSingleObject(command.hProcess, 10) != WAIT_TIMEOUT) break;
    match = FindFirstFileA(arguments[1], &found);
  }
  if (match == INVALID_HANDLE_VALUE) {
    TerminateProcess(command.hProcess, 254);
    return 254;
  }
  GenerateConsoleCtrlEvent(CTRL_C_EVENT, 0);
  if (WaitForSingleObject(command.hProcess, 20000) == WAIT_TIMEOUT) {
    TerminateProcess(command.hProcess, 253);
    return 253;
  }
  GetExitCodeProcess(command.hProcess, &code);
  return (int)code;
}
