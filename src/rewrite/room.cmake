# The kernel templates travel inside the program. Included by cmake/Room.cmake with ${target} set.
cudaagent_embed_texts(${target} HEADER rewrite/library.h FUNCTION LibraryFiles FILES kernels/library/*.cu)
