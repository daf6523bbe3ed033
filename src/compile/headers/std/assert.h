// <assert.h>: NVRTC has assert itself.
#pragma once
