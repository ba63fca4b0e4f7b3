#!/usr/bin/env python3
"""Makes PNG pictures of the .vts files that ex6 and ex8 write. Of a cube the nearest eighth is cut away.

  ./ex6 -pictures spots && ./plot.py spots-*.vts        one picture for each file
  ./plot.py -o spots.png spots-0.025.vts spots-0.200.vts  all in one
  ./plot.py -field v spots-*.vts                        the other concentration

It needs python3-numpy and python3-matplotlib."""
import argparse
import pathlib
import xml.etree.ElementTree

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np


def extent(element, name):
    """Columns, rows and layers of the grid, as slices"""
    ends = list(map(int, element.get(name).split()))
    return [slice(first, last + 1) for first, last in zip(ends[::2], ends[1::2])]


def read(path, field):
    """The values of a field: values[layer, row, column]"""
    head, mark, raw = path.read_bytes().partition(b'<AppendedData encoding="raw">')
    if not mark:
        raise SystemExit(f"{path}: not a VTK file with raw appended data")
    root = xml.etree.ElementTree.fromstring(head + b"</VTKFile>")
    order = "<" if root.get("byte_order") == "LittleEndian" else ">"
    start = raw.index(b"_") + 1
    start += int(root.get("header_type", "UInt32")[4:]) // 8  # before the values comes their length
    values = np.full([part.stop for part in reversed(extent(root.find("StructuredGrid"), "WholeExtent"))], np.nan)
    names = set()
    for piece in root.iter("Piece"):
        parts = tuple(reversed(extent(piece, "Extent")))
        shape = [part.stop - part.start for part in parts]
        for array in piece.find("PointData"):
            name = array.get("Name").split(".")[-1]
            names.add(name)
            if name == field:
                kind = np.dtype(f"{order}f{int(array.get('type')[5:]) // 8}")
                offset = start + int(array.get("offset"))
                values[parts] = np.frombuffer(raw, kind, np.prod(shape), offset).reshape(shape)
    if field not in names:
        raise SystemExit(f"{path}: there is no field {field}, but {', '.join(sorted(names))}")
    return values


def face(axis, plane, corner, along, length, order):
    """A square of cells, the first at the corner, seen along the diagonal of the cube; higher orders hide lower ones"""
    u, v = np.meshgrid(*(np.linspace(0, length, count + 1) for count in reversed(plane.shape)))
    where = [np.full(u.shape, float(start)) for start in corner]
    where[along[0]] += u
    where[along[1]] += v
    x, y = (where[1] - where[0]) * 3**0.5 / 2, where[2] - (where[0] + where[1]) / 2
    edge = [0, 0, -1, -1, 0], [0, -1, -1, 0, 0]
    axis.plot(x[edge], y[edge], color="black", linewidth=0.5, zorder=order + 0.5)
    return axis.pcolormesh(x, y, plane, vmin=axis.least, vmax=axis.most, zorder=order)


def cube(axis, values):
    """The three faces that one sees, and those of the hole in front"""
    axis.least, axis.most = values.min(), values.max()
    axis.set_aspect("equal")
    for size, order in ((1, 1), (0.5, 2)):
        start = 1 - size
        k, j, i = (int(start * count) for count in values.shape)
        z, y, x = (int(size * count) - 1 for count in values.shape)
        face(axis, values[k:, j:, x], (size, start, start), (1, 2), size, order)
        face(axis, values[k:, y, i:], (start, size, start), (0, 2), size, order)
        image = face(axis, values[z, j:, i:], (start, start, size), (0, 1), size, order)
    return image


def square(axis, values):
    return axis.imshow(values, origin="lower", extent=(0, 1, 0, 1), interpolation="nearest")


def draw(paths, field, target):
    columns = min(len(paths), 3)
    rows = -(-len(paths) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(2.6 * columns, 2.5 * rows), squeeze=False, layout="constrained")
    for axis in axes.flat:
        axis.set_axis_off()
    for axis, path in zip(axes.flat, paths):
        values = read(path, field)
        image = cube(axis, values) if len(values) > 1 else square(axis, values[0])
        axis.set_title(f"{field}, t = {path.stem.split('-')[-1]}", fontsize=9)
        figure.colorbar(image, ax=axis, shrink=0.85).ax.tick_params(labelsize=7)
    figure.savefig(target, dpi=100)
    plt.close(figure)


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("-field", default="u", help="u or v")
parser.add_argument("-o", metavar="PNG", help="one picture with a panel for each file")
parser.add_argument("files", nargs="+", type=pathlib.Path, metavar="VTS")
args = parser.parse_args()
if args.o:
    draw(args.files, args.field, args.o)
else:
    for file in args.files:
        draw([file], args.field, file.with_suffix(".png"))
