# The geometry of a column, as it is stored, touches the area.
import shapely

AREA = shapely.union_all([PARTS])


def touches_area(row):
    wkb = next(iter(row.values()))
    shape = None if wkb is None else shapely.from_wkb(bytes(wkb), on_invalid="ignore")
    return shape is not None and bool(shape.intersects(AREA))
