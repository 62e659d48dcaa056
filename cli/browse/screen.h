/* SPDX-License-Identifier: Apache-2.0 */
/* The terminal as lines of text. Only this part uses ncurses. */
#ifndef CLI_BROWSE_SCREEN_H
#define CLI_BROWSE_SCREEN_H

#include "cli/print/output.h"

/* Keys that are not characters; characters are their code points. */
enum pressed {
	PRESSED_NOTHING = -1, /* timeout */
	PRESSED_GONE = -2,    /* the terminal is gone */
	PRESSED_LINE_UP = -100,
	PRESSED_LINE_DOWN,
	PRESSED_PAGE_UP,
	PRESSED_PAGE_DOWN,
	PRESSED_TO_BEGIN,
	PRESSED_TO_END,
	PRESSED_TO_LEFT,
	PRESSED_TO_RIGHT,
	PRESSED_RETURN,
	PRESSED_ERASE,
	PRESSED_NEXT_TAB,
	PRESSED_LAST_TAB,
	PRESSED_BACK, /* Esc */
	PRESSED_HELP,
	PRESSED_NEW_SIZE,
};

/* The look of a whole line, besides its own attributes. */
enum line_look {
	LINE_PLAIN,
	LINE_CHOSEN,
	LINE_BAR,
};

/* Standard output is a terminal on which lines can be placed. Keys are read from the terminal as
 * well, whatever standard input is. */
bool screen_is_possible(void);
/*
 * Takes the terminal and holds back messages on stderr from then on. False if it cannot; nothing
 * has changed then.
 */
bool screen_open(void);
/* Restores the terminal and prints the messages that screen_message has not returned. */
void screen_close(void);

unsigned int screen_width(void);
unsigned int screen_height(void);
/* The screen's colours, characters and width, without a file. */
struct output screen_output(void);

/*
 * Shows a line from its column `first` on, as far as there is room. It may contain the escape
 * sequences of cli/print/output.h.
 */
void screen_line(unsigned int row, const char *text, size_t first, enum line_look look);
/* Clears the screen for new lines. */
void screen_clear(void);
/* Shows it. */
void screen_show(void);
/* Shows the screen and waits for a key, at most `ms` unless negative. `cursor`: the column of the
 * prompt in the last row; -1: no prompt. */
int screen_key(int ms, int cursor);

/* The last line of the messages since the previous call, or NULL. The caller frees it. */
char *screen_message(void);

#endif
