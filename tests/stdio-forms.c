/* SPDX-License-Identifier: BSD-3-Clause */
/* stdio-forms.c -- streams in the working directory; prints what they answer */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wchar.h>

static char buf[1 << 20];

#define SAY(expr)							\
	do {								\
		errno = 0;						\
		long answer = (long)(expr);				\
		printf("%s: %ld%s%s\n", #expr, answer,			\
		       answer < 0 ? " " : "",				\
		       answer < 0 ? strerrorname_np(errno) : "");	\
	} while (0)

static long
size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 ? -1 : (long)st.st_size;
}

static void
write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	if (!f || fputs(text, f) < 0 || fclose(f))
		err(1, "%s", path);
}

static void
show_file(const char *path)
{
	FILE *f = fopen(path, "r");
	size_t n = f ? fread(buf, 1, 200, f) : 0;

	printf("%s holds %ld:", path, size_of(path));
	for (size_t i = 0; i < n; i++)
		printf(buf[i] >= ' ' && buf[i] <= '~' ? "%c" : "\\%03o",
		       (unsigned char)buf[i]);
	printf("\n");
	if (f)
		fclose(f);
}

static void
show_mode(const char *path, const char *mode)
{
	struct stat st = { 0 };
	FILE *f;

	errno = 0;
	f = fopen(path, mode);
	printf("fopen(%s, \"%s\"): %s\n", path, mode,
	       f ? "open" : strerrorname_np(errno));
	if (!f)
		return;
	fstat(fileno(f), &st);
	printf("  mode %o, size %ld, cloexec %d, flags %o, at %ld, raw %ld\n",
	       st.st_mode, (long)st.st_size, fcntl(fileno(f), F_GETFD),
	       fcntl(fileno(f), F_GETFL), ftell(f),
	       (long)lseek(fileno(f), 0, SEEK_CUR));
	printf("  reads %d writes %d\n", __freadable(f), __fwritable(f));
	SAY(fgetc(f));
	clearerr(f);
	SAY(fseek(f, 0, SEEK_CUR));
	SAY(fputs("WORD", f));
	SAY(ftell(f));
	SAY(fclose(f));
	show_file(path);
}

static void
modes(void)
{
	static const char *const all[] = {
		"r", "rb", "r+", "rb+", "r+b", "w", "w+", "wb", "a", "a+",
		"ab", "we", "re+", "a+e", "wx", "w+x", "wbxe", "rc", "rm",
		"r+m", "rbcem+", "rbbbbb+", "rbbbbbb+", "z", "", "+r", "rw",
	};

	umask(027);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		(void)unlink("new");
		show_mode("new", all[i]);
		write_text("old", "old text");
		show_mode("old", all[i]);
	}
	SAY(fopen("no/such", "w") ? 0 : -1);
	SAY(fopen(".", "w") ? 0 : -1);
	SAY(fopen("", "r") ? 0 : -1);
}

static void
numbers(void)
{
	FILE *f;
	int fd;

	write_text("numbers", "0123456789");
	fd = open("numbers", O_RDONLY);
	SAY(fdopen(fd, "w") ? 0 : -1);
	SAY(fdopen(fd, "r+") ? 0 : -1);
	SAY(fdopen(fd, "q") ? 0 : -1);
	SAY(fdopen(999, "r") ? 0 : -1);
	lseek(fd, 4, SEEK_SET);
	f = fdopen(fd, "rb");
	SAY(fileno(f) - fd);
	SAY(ftell(f));
	SAY(fgetc(f));
	SAY(fclose(f));
	SAY(close(fd));
	fd = open("numbers", O_RDWR);
	f = fdopen(fd, "a");
	SAY(fcntl(fd, F_GETFL) & O_APPEND);
	SAY(lseek(fd, 0, SEEK_CUR));
	SAY(fputs("more", f));
	SAY(close(fd));			/* under the stream */
	SAY(fclose(f));
	fd = open("numbers", O_RDWR | O_APPEND);
	f = fdopen(fd, "a+");
	SAY(lseek(fd, 0, SEEK_CUR));
	SAY(fgetc(f));
	SAY(fclose(f));
	show_file("numbers");
}

static void
bytes(void)
{
	char *line = NULL, word[20];
	size_t cap = 0;
	FILE *f = fopen("bytes", "w+");
	int n, m;

	for (int i = 0; i < 5000; i++)
		fprintf(f, "%d %s\n", i, "word");
	SAY(ftell(f));
	SAY(putw(1234567, f));
	for (int i = 0; i < 100000; i++)
		putc_unlocked('a' + i % 26, f);
	memset(buf, 'z', sizeof(buf));
	SAY(fwrite(buf, 1, sizeof(buf), f));
	SAY(fwrite(buf, 13, 1001, f));
	SAY(fputc('\n', f));
	rewind(f);
	SAY(fscanf(f, "%d %19s %d", &n, word, &m));
	printf("%d %s %d\n", n, word, m);
	SAY(getline(&line, &cap, f));
	SAY(getdelim(&line, &cap, '7', f));
	printf("%s\n", line);
	SAY(ungetc('Q', f));
	SAY(ftell(f));
	SAY(fgetc(f));
	SAY(fseek(f, 1000, SEEK_SET));
	SAY(fread(buf, 1, 70000, f));
	SAY(ftell(f));
	SAY(fread(buf, 100, 1, f));
	SAY(fread(buf, 1, sizeof(buf), f));
	SAY(fread(buf, 1, sizeof(buf), f));
	SAY(feof(f) != 0);
	SAY(fgetc(f));
	SAY(fseek(f, -5, SEEK_END));
	SAY(feof(f));
	SAY(getc_unlocked(f));
	SAY(fseek(f, 0, SEEK_CUR));
	SAY(fputs("END", f));
	SAY(fclose(f));
	SAY(size_of("bytes"));
	free(line);
}

/* When the file grows. */
static void
buffers(void)
{
	static const int kinds[] = { _IOFBF, _IOLBF, _IONBF };
	char own[1000];
	long last;
	FILE *f;

	f = fopen("buffer", "w");
	last = 0;
	for (long i = 0; i < 20000; i++) {
		fputc('x', f);
		if (size_of("buffer") != last) {
			last = size_of("buffer");
			printf("after %ld: %ld\n", i + 1, last);
		}
	}
	SAY(fclose(f));
	for (int k = 0; k < 3; k++) {
		f = fopen("buffer", "w");
		SAY(setvbuf(f, own, kinds[k], sizeof(own)));
		SAY(fputs("one", f));
		SAY(size_of("buffer"));
		SAY(fputs("two\nthree", f));
		SAY(size_of("buffer"));
		memset(buf, 'y', 2500);
		SAY(fwrite(buf, 1, 2500, f));
		SAY(size_of("buffer"));
		SAY(fclose(f));
	}
	f = fopen("buffer", "r");
	setbuf(f, NULL);
	SAY(fgetc(f));
	SAY(lseek(fileno(f), 0, SEEK_CUR));
	SAY(fread(buf, 1, 100, f));
	SAY(lseek(fileno(f), 0, SEEK_CUR));
	SAY(fclose(f));
}

static void
places(void)
{
	FILE *f = fopen("places", "w+");
	fpos_t pos;

	SAY(fseeko(f, 6L << 30, SEEK_SET));
	SAY(fputs("far", f));
	SAY(ftello(f));
	SAY(fflush(f));
	SAY(size_of("places"));
	SAY(fseeko(f, -3, SEEK_END));
	SAY(fgetpos(f, &pos));
	SAY(fgetc(f));
	SAY(fsetpos(f, &pos));
	SAY(ftello(f));
	SAY(fseek(f, -1, SEEK_SET));
	SAY(fseek(f, 0, 77));
	SAY(fseek(f, -(7L << 30), SEEK_CUR));
	SAY(ftello(f));
	rewind(f);
	SAY(fgetc(f));
	SAY(ftruncate(fileno(f), 10));
	SAY(fseek(f, 0, SEEK_END));
	SAY(fputs("end", f));
	SAY(fclose(f));
	show_file("places");
}

static void
appending(void)
{
	FILE *a, *b;

	write_text("append", "begin ");
	a = fopen("append", "a");
	b = fopen("append", "a+");
	SAY(ftell(a));
	SAY(ftell(b));
	SAY(fgetc(b));
	SAY(fputs("one ", a));
	SAY(ftell(a));
	SAY(fflush(a));
	SAY(fseek(b, 0, SEEK_SET));
	SAY(fputs("two ", b));
	SAY(fflush(b));
	SAY(ftell(b));
	SAY(fputs("three ", a));
	SAY(fclose(a));
	SAY(fseek(b, 0, SEEK_SET));
	SAY(fgets(buf, 100, b) ? (long)strlen(buf) : -1);
	SAY(fclose(b));
	show_file("append");
}

/* The descriptor and the stream in turn. */
static void
mixed(void)
{
	FILE *f = fopen("mixed", "w+");
	int fd = fileno(f), copy = dup(fd);

	SAY(fputs("stream ", f));
	SAY(fflush(f));
	SAY(write(fd, "direct ", 7));
	SAY(dprintf(fd, "%s %d ", "printed", 7));
	SAY(dprintf(copy, "%600d", 1));
	SAY(fputs("again", f));
	SAY(fflush(NULL));
	SAY(lseek(copy, 0, SEEK_CUR));
	SAY(lseek(copy, 3, SEEK_SET));
	SAY(fgetc(f));
	SAY(fflush(f));
	SAY(lseek(copy, 0, SEEK_CUR));
	SAY(fclose(f));
	SAY(close(copy));
	show_file("mixed");
}

/* Another file under the number of a stream. */
static void
exchanged(void)
{
	FILE *null = fopen("/dev/null", "w"), *f;
	int fd = open("exchanged", O_RDWR | O_CREAT | O_TRUNC, 0666);

	SAY(write(fd, "first ", 6));
	SAY(dup2(fd, fileno(null)) - fileno(null));
	SAY(fputs("second ", null));
	SAY(fflush(null));
	SAY(write(fd, "third ", 6));
	SAY(fclose(null));
	SAY(close(fd));
	show_file("exchanged");
	f = fopen("exchanged", "a");
	fd = open("/dev/null", O_WRONLY);
	SAY(fputs("seen", f));
	SAY(fflush(f));
	SAY(dup2(fd, fileno(f)) - fileno(f));
	SAY(fputs("unseen", f));
	SAY(fclose(f));
	show_file("exchanged");
}

static void
wide(void)
{
	wchar_t line[100];
	FILE *f = fopen("wide", "w+");

	SAY(fwide(f, 0));
	SAY(fwprintf(f, L"%d z\u00fcrich \u4e2d\u6587\n", 42));
	SAY(fwide(f, 0));
	SAY(fputc('x', f));
	SAY(fputws(L"more \u20ac\n", f));
	SAY((int)putwc(L'\u00e9', f));
	SAY(ftell(f));
	rewind(f);
	SAY(fgetws(line, 100, f) ? (long)wcslen(line) : -1);
	SAY((int)getwc(f));
	SAY((int)ungetwc(L'M', f));
	SAY(fwscanf(f, L"%99ls", line));
	SAY((long)wcslen(line));
	SAY(ftell(f));
	SAY(fileno(f) >= 0);
	SAY(fclose(f));
	show_file("wide");

	f = fopen("wide", "r");
	SAY(fgetc(f));
	SAY(fwide(f, 1));
	SAY((int)fgetwc(f));
	SAY(fclose(f));
	f = fopen("wide", "a");
	SAY(fwide(f, 1));
	SAY(fputws(L"end\n", f));
	SAY(fclose(f));
	show_file("wide");
}

static void
conversions(void)
{
	wchar_t line[100];
	FILE *f = fopen("converted", "w,ccs=UTF-16LE");

	SAY(f ? fwide(f, 0) : -9);
	SAY(fputws(L"h\u00e9llo\n", f));
	SAY(fclose(f));
	show_file("converted");
	f = fopen("converted", "r,ccs=UTF-16LE");
	SAY(fgetws(line, 100, f) ? (long)wcslen(line) : -1);
	SAY(line[1]);
	SAY(fclose(f));
	f = fopen("converted", "ax,ccs=UTF-8");
	SAY(f ? 0 : -1);
	f = fopen("converted", "a,ccs=UTF-8");
	SAY(lseek(fileno(f), 0, SEEK_CUR));
	SAY(fputws(L"\u00e9", f));
	SAY(fclose(f));
	show_file("converted");
	SAY(fopen("converted", "w,ccs=NO-SUCH") ? 0 : -1);
	show_file("converted");
}

static void
reopened(void)
{
	FILE *f = fopen("first", "w");
	int fd = fileno(f), out;

	SAY(fputs("in first", f));
	SAY(freopen("second", "w+", f) == f);
	SAY(fileno(f) == fd);
	SAY(fputs("in second", f));
	SAY(fwide(f, 0));
	rewind(f);
	SAY(fgetc(f));
	SAY(freopen(NULL, "r", f) == f);
	SAY(fileno(f) == fd);
	SAY(fputc('x', f));
	SAY(fgets(buf, 100, f) ? (long)strlen(buf) : -1);
	SAY(freopen("first", "ae", f) == f);
	SAY(fcntl(fd, F_GETFD));
	SAY(fputs(" and again", f));
	SAY(freopen("third", "w,ccs=UTF-8", f) == f);
	SAY(fputws(L"\u00fc", f));
	SAY(fclose(f));
	f = fopen("third", "r+");
	SAY(freopen("no/such", "r", f) ? 0 : -1);
	SAY(fcntl(fd, F_GETFD));
	f = fopen("third", "r+");
	SAY(freopen("third", "q", f) ? 0 : -1);
	f = fopen("third", "w");
	SAY(fputs("closed", f));
	SAY(fflush(f));
	SAY(close(fileno(f)));
	SAY(freopen("fourth", "w", f) == f);
	SAY(fputs("in fourth", f));
	SAY(fclose(f));

	fflush(stdout);
	out = dup(STDOUT_FILENO);
	if (!freopen("printed", "w", stdout))
		err(1, "freopen");
	printf("to the file\n");
	if (system("echo from a child") != 0)
		err(1, "system");
	printf("and more\n");
	fflush(stdout);
	dup2(out, STDOUT_FILENO);
	close(out);
	show_file("first");
	show_file("second");
	show_file("third");
	show_file("fourth");
	show_file("printed");
}

static void
children(void)
{
	FILE *f = fopen("children", "w");
	int status;

	fprintf(f, "buffered ");
	fflush(stdout);
	if (fork() == 0) {
		fprintf(f, "child ");
		exit(0);		/* what was buffered comes twice */
	}
	wait(&status);
	fprintf(f, "parent ");
	fflush(stdout);
	if (fork() == 0) {
		fprintf(f, "lost ");
		_exit(0);
	}
	wait(&status);
	SAY(fclose(f));
	show_file("children");
	f = fopen("children", "r");
	SAY(fgetc(f));
	fflush(stdout);
	if (fork() == 0) {
		SAY(fseek(f, 2, SEEK_SET));
		SAY(fgetc(f));
		exit(0);
	}
	wait(&status);
	SAY(fgetc(f));
	SAY(fclose(f));
}

static void *
print_lines(void *f)
{
	for (int i = 0; i < 2000; i++)
		fprintf(f, "a line that is written as a whole %d\n", i);
	return NULL;
}

static void
threads(void)
{
	FILE *f = fopen("threads", "w");
	pthread_t all[4];
	long lines = 0, whole = 0;

	fputs("before any thread\n", f);
	for (int i = 0; i < 4; i++)
		pthread_create(&all[i], NULL, print_lines, f);
	for (int i = 0; i < 4; i++)
		pthread_join(all[i], NULL);
	SAY(fclose(f));
	f = fopen("threads", "r");
	while (fgets(buf, 200, f)) {
		lines++;
		whole += strncmp(buf, "a line that is written as a whole ",
				 34) == 0;
	}
	fclose(f);
	printf("%ld lines, %ld whole\n", lines, whole);
	unlink("threads");		/* their order is free */
}

static void
limits(void)
{
	struct rlimit limit = { 10000, 10000 };
	FILE *f = fopen("limit", "w");

	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &limit);
	memset(buf, 'l', 30000);
	SAY(fwrite(buf, 1, 9000, f));
	SAY(fflush(f));
	SAY(fwrite(buf, 1, 30000, f));
	printf("%s\n", strerrorname_np(errno));
	SAY(ferror(f) != 0);
	SAY(fclose(f));
	SAY(size_of("limit"));
}

/* Left to exit: flushed by libc when everything else has ended. */
static void
at_end(void)
{
	FILE *f = fopen("exit", "w"), *w = fopen("exit-wide", "w");

	fprintf(f, "flushed by exit\n");
	fwprintf(w, L"fl\u00fcshed\n");
	SAY(fcloseall());
	fprintf(f, "unbuffered now\n");
	f = fopen("exit-late", "w");
	fprintf(f, "flushed by exit\n");
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*show)(void);
	} all[] = {
		{ "modes", modes }, { "numbers", numbers },
		{ "bytes", bytes }, { "buffers", buffers },
		{ "places", places }, { "appending", appending },
		{ "mixed", mixed }, { "exchanged", exchanged },
		{ "wide", wide }, { "conversions", conversions },
		{ "reopened", reopened }, { "children", children },
		{ "threads", threads }, { "limits", limits },
		{ "at_end", at_end },
	};

	setlocale(LC_ALL, "C.UTF-8");
	for (size_t i = 0; argc > 1 && i < sizeof(all) / sizeof(*all); i++)
		if (strcmp(argv[1], all[i].name) == 0) {
			all[i].show();
			return 0;
		}
	errx(1, "which behaviour?");
}
