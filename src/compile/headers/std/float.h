// <float.h>: the prelude, included before every candidate, has what device code uses of it.
#pragma once
