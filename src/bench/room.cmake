# The list of ill-posed problems travels inside the program. Included by cmake/Room.cmake with ${target} set.
cudaagent_embed_texts(${target} HEADER bench/embedded_quality.h FUNCTION EmbeddedQuality
                      FILES configs/problem_quality*)
