from . import library

print(library())
