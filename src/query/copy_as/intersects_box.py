# The geometry of a column, as it is stored, touches one of the boxes.
import shapely

AREA = shapely.union_all([shapely.MultiPoint([(west, south), (east, north)]).envelope for west, south, east, north in BOXES])


def touches_box(row):
    wkb = next(iter(row.values()))
    shape = None if wkb is None else shapely.from_wkb(bytes(wkb), on_invalid="ignore")
    return shape is not None and bool(shape.intersects(AREA))
