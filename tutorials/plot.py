#!/usr/bin/env python3
"""Makes PNG pictures of the .vts files that ex6 writes.

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
    """Columns and rows of the grid, as slices"""
    i0, i1, j0, j1 = map(int, element.get(name).split()[:4])
    return slice(i0, i1 + 1), slice(j0, j1 + 1)


def read(path, field):
    """The values of a field as a matrix, whose rows are those of the grid"""
    head, mark, raw = path.read_bytes().partition(b'<AppendedData encoding="raw">')
    if not mark:
        raise SystemExit(f"{path}: not a VTK file with raw appended data")
    root = xml.etree.ElementTree.fromstring(head + b"</VTKFile>")
    order = "<" if root.get("byte_order") == "LittleEndian" else ">"
    start = raw.index(b"_") + 1
    start += int(root.get("header_type", "UInt32")[4:]) // 8  # before the values comes their length
    columns, rows = extent(root.find("StructuredGrid"), "WholeExtent")
    values = np.full((rows.stop, columns.stop), np.nan)
    names = set()
    for piece in root.iter("Piece"):
        columns, rows = extent(piece, "Extent")
        shape = rows.stop - rows.start, columns.stop - columns.start
        for array in piece.find("PointData"):
            name = array.get("Name").split(".")[-1]
            names.add(name)
            if name == field:
                kind = np.dtype(f"{order}f{int(array.get('type')[5:]) // 8}")
                values[rows, columns] = np.frombuffer(raw, kind, shape[0] * shape[1], start + int(array.get("offset"))).reshape(shape)
    if field not in names:
        raise SystemExit(f"{path}: there is no field {field}, but {', '.join(sorted(names))}")
    return values


def draw(paths, field, target):
    columns = min(len(paths), 3)
    rows = -(-len(paths) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(2.6 * columns, 2.5 * rows), squeeze=False, layout="constrained")
    for axis in axes.flat:
        axis.set_axis_off()
    for axis, path in zip(axes.flat, paths):
        image = axis.imshow(read(path, field), origin="lower", extent=(0, 1, 0, 1), interpolation="nearest")
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
