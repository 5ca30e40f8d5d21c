/* SPDX-License-Identifier: BSD-3-Clause */
/* sanitized.h -- which sanitizer watches this build */
#ifndef SPW_SHM_SANITIZED_H
#define SPW_SHM_SANITIZED_H

#if defined(__SANITIZE_THREAD__)	/* gcc says it so */
#define SPW_WITH_TSAN 1
#elif defined(__SANITIZE_ADDRESS__)
#define SPW_WITH_ASAN 1
#elif defined(__has_feature)		/* and clang so */
#if __has_feature(thread_sanitizer)
#define SPW_WITH_TSAN 1
#elif __has_feature(address_sanitizer)
#define SPW_WITH_ASAN 1
#endif
#endif

#endif
