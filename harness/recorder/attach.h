/* `hindmost attach`: calls that the bindings for Fortran pass on. */
#pragma once

static int note_pcontrol(int level);
