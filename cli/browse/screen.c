/* SPDX-License-Identifier: Apache-2.0 */
#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
#include <unistd.h>
#include <wchar.h>
#include <wctype.h>

#include "cli/browse/screen.h"
#include "cli/print/text.h"
#include "host/system.h"

/* Time for the rest of a key's bytes to arrive after an Esc. */
#define ESCAPE_MS   25
#define MESSAGE_MAX 4096

static struct {
	SCREEN *screen; /* NULL: not open */
	FILE *keys;	/* the keyboard */
	int messages;	/* a file in place of stderr */
	int stderr_fd;	/* the original stderr */
	off_t taken;	/* messages up to here were reported */
	bool color;
} terminal;

/* ---- opening ------------------------------------------------------------------------------ */

/* Not standard input, which may be the capture. NULL: there is no terminal. */
static FILE *open_keys(void)
{
	return fopen("/dev/tty", "re");
}

bool screen_is_possible(void)
{
	FILE *keys = open_keys();
	bool possible;
	int error;

	if (!keys)
		return false;
	fclose(keys);
	if (!isatty(STDOUT_FILENO) || setupterm(NULL, STDOUT_FILENO, &error) != OK)
		return false;
	possible = cursor_address != NULL;
	del_curterm(cur_term);
	return possible;
}

static bool keep_messages(void)
{
	terminal.messages = reel_system_memory_file("messages");
	if (terminal.messages < 0)
		return false;
	fflush(stderr);
	terminal.stderr_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
	if (terminal.stderr_fd < 0 || dup2(terminal.messages, STDERR_FILENO) < 0) {
		close(terminal.messages);
		return false;
	}
	terminal.taken = 0;
	return true;
}

static void start_colors(void)
{
	terminal.color = colors_wanted() && has_colors() && start_color() == OK;
	if (!terminal.color)
		return;
	use_default_colors();
	for (short color = 1; color < 8; color++)
		init_pair(color, color, -1);
}

bool screen_open(void)
{
	if (!keep_messages())
		return false;
	terminal.keys = open_keys();
	terminal.screen = terminal.keys ? newterm(NULL, stdout, terminal.keys) : NULL;
	if (!terminal.screen) {
		if (terminal.keys)
			fclose(terminal.keys);
		dup2(terminal.stderr_fd, STDERR_FILENO);
		close(terminal.stderr_fd);
		close(terminal.messages);
		return false;
	}
	set_term(terminal.screen);
	start_colors();
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	set_escdelay(ESCAPE_MS);
	/* A --time-limit limits the work, not the user's reading. */
	signal(SIGALRM, SIG_IGN);
	return true;
}

static void print_messages(void)
{
	char buffer[4096];
	ssize_t size;

	while ((size = pread(terminal.messages, buffer, sizeof(buffer), terminal.taken)) > 0) {
		fwrite(buffer, 1, (size_t)size, stderr);
		terminal.taken += size;
	}
}

void screen_close(void)
{
	if (!terminal.screen)
		return;
	endwin();
	delscreen(terminal.screen);
	terminal.screen = NULL;
	fclose(terminal.keys);
	fflush(stderr);
	dup2(terminal.stderr_fd, STDERR_FILENO);
	close(terminal.stderr_fd);
	print_messages();
	close(terminal.messages);
}

char *screen_message(void)
{
	_cleanup_free_ char *text = memory_get(MESSAGE_MAX + 1);
	ssize_t size;
	char *line;

	fflush(stderr);
	size = pread(terminal.messages, text, MESSAGE_MAX, terminal.taken);
	if (size <= 0)
		return NULL;
	terminal.taken += size;
	text[size] = '\0';
	if (text[size - 1] == '\n')
		text[size - 1] = '\0';
	line = strrchr(text, '\n');
	return memory_print("%s", line ? line + 1 : text);
}

unsigned int screen_width(void)
{
	return (unsigned int)COLS;
}

unsigned int screen_height(void)
{
	return (unsigned int)LINES;
}

struct output screen_output(void)
{
	return (struct output){
		.path = "the terminal",
		.terminal = true,
		.color = terminal.color,
		.utf8 = is_utf8_wanted(),
		.width = (unsigned int)COLS,
	};
}

/* ---- lines -------------------------------------------------------------------------------- */

/* The attribute that a sequence of cli/print/output.h sets; `*end` is set to its end. */
static attr_t read_sequence(const char *text, attr_t now, const char **end)
{
	long number = strtol(text + 2, (char **)end, 10);

	if (**end == 'm')
		++*end;
	switch (number) {
	case 0:
		return A_NORMAL;
	case 1:
		return now | A_BOLD;
	case 2:
		return now | A_DIM;
	default:
		return number > 30 && number < 38 ? now | (attr_t)COLOR_PAIR(number - 30) : now;
	}
}

static attr_t attribute_of(enum line_look look)
{
	return look == LINE_PLAIN ? A_NORMAL : look == LINE_BAR ? A_REVERSE | A_BOLD : A_REVERSE;
}

/* Reads a character of the locale; an unprintable one becomes a question mark of equal width. */
static size_t read_character(const char *text, wchar_t *ret)
{
	mbstate_t state = { 0 };
	size_t length;

	length = mbrtowc(ret, text, strlen(text), &state);
	/* -1 and -2 are errors. */
	if (length + 2 > 2 && iswprint((wint_t)*ret))
		return length;
	text_decode((const uint8_t *)text, strlen(text), &length);
	*ret = L'?';
	return length;
}

void screen_line(unsigned int row, const char *text, size_t first, enum line_look look)
{
	attr_t attribute = A_NORMAL, base = attribute_of(look);
	size_t column = 0, end = first + screen_width();

	if (row >= screen_height())
		return;
	move((int)row, 0);
	attrset((int)base);
	while (*text && *text != '\n') {
		wchar_t character[2] = { 0 };
		size_t width;

		if (text[0] == '\033' && text[1] == '[') {
			attribute = read_sequence(text, attribute, &text);
			/* The selected line is easiest to read without colours. */
			attrset((int)(look == LINE_PLAIN ? attribute : base));
			continue;
		}
		text += read_character(text, character);
		width = wcwidth(character[0]) > 0 ? (size_t)wcwidth(character[0]) : 0;
		if (column >= first && column + width <= end)
			addwstr(character);
		column += width;
	}
	attrset((int)base);
	while (column < end) {
		if (column++ >= first)
			addch(' ');
	}
	attrset(A_NORMAL);
}

void screen_clear(void)
{
	erase();
}

void screen_show(void)
{
	refresh();
}

/* ---- keys --------------------------------------------------------------------------------- */

static int key_of_curses(wint_t key)
{
	static const struct {
		wint_t from;
		int to;
	} keys[] = {
		{ KEY_UP, PRESSED_LINE_UP },	{ KEY_DOWN, PRESSED_LINE_DOWN },
		{ KEY_LEFT, PRESSED_TO_LEFT },	{ KEY_RIGHT, PRESSED_TO_RIGHT },
		{ KEY_PPAGE, PRESSED_PAGE_UP }, { KEY_NPAGE, PRESSED_PAGE_DOWN },
		{ KEY_HOME, PRESSED_TO_BEGIN }, { KEY_END, PRESSED_TO_END },
		{ KEY_ENTER, PRESSED_RETURN },	{ KEY_BACKSPACE, PRESSED_ERASE },
		{ KEY_DC, PRESSED_ERASE },	{ KEY_BTAB, PRESSED_LAST_TAB },
		{ KEY_F(1), PRESSED_HELP },	{ KEY_RESIZE, PRESSED_NEW_SIZE },
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		if (keys[i].from == key)
			return keys[i].to;
	}
	return PRESSED_NOTHING;
}

static int key_of_character(wint_t character)
{
	switch (character) {
	case '\r':
	case '\n':
		return PRESSED_RETURN;
	case '\t':
		return PRESSED_NEXT_TAB;
	case '\033':
		return PRESSED_BACK;
	case '\b':
	case 0x7f:
		return PRESSED_ERASE;
	default:
		return (int)character;
	}
}

int screen_key(int ms, int cursor)
{
	wint_t key;
	int result;

	curs_set(cursor >= 0);
	if (cursor >= 0)
		move(LINES - 1, cursor < COLS ? cursor : COLS - 1);
	refresh();
	timeout(ms);
	errno = 0;
	result = get_wch(&key);
	if (result == KEY_CODE_YES)
		return key_of_curses(key);
	if (result == OK)
		return key_of_character(key);
	/* After a hangup, a read returns nothing at once, without an error. */
	return ms < 0 && errno != EINTR ? PRESSED_GONE : PRESSED_NOTHING;
}
