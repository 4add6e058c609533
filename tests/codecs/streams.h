/* Streams made by hand of the codecs for which they fill a file: what codec_case.streams calls. */
#ifndef BALE_TESTS_CODECS_STREAMS_H
#define BALE_TESTS_CODECS_STREAMS_H

#include "tests/codecs/cases.h"

void cusz_streams(codec_stream_visit *visit, void *arg);
void float_streams(codec_stream_visit *visit, void *arg);

#endif
