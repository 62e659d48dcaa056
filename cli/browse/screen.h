/* SPDX-License-Identifier: Apache-2.0 */
/* The terminal as lines of text, by ncurses: nothing else here knows of that. */
#ifndef CLI_BROWSE_SCREEN_H
#define CLI_BROWSE_SCREEN_H

#include "cli/print/output.h"

/* Keys that are no characters; those are their code points. */
enum pressed {
	PRESSED_NOTHING = -1, /* a while went by */
	PRESSED_GONE = -2,    /* there is no terminal any more */
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

/* How a line looks as a whole, beside what it says itself. */
enum line_look {
	LINE_PLAIN,
	LINE_CHOSEN,
	LINE_BAR,
};

/* Standard output is a terminal on which lines can be placed; keys are read from it, too, whatever
 * standard input is. */
bool screen_is_possible(void);
/*
 * Takes the terminal; messages on stderr are kept from then on.  False if it can't, and then
 * nothing has changed.
 */
bool screen_open(void);
/* Gives it back; then the messages that nobody has taken are printed. */
void screen_close(void);

unsigned int screen_width(void);
unsigned int screen_height(void);
/* Colours and characters that lines may have, its width, and no file. */
struct output screen_output(void);

/*
 * Shows a line from its column `first` on, as far as there is room.  Of escape sequences it may
 * have those of cli/print/output.h.
 */
void screen_line(unsigned int row, const char *text, size_t first, enum line_look look);
/* What follows is shown in the place of all that was. */
void screen_clear(void);
/* Shows it. */
void screen_show(void);
/* Shows it, and waits for a key; for no longer than `ms`, if that is not negative. `cursor`: the
 * column of the last row in which something is typed; -1: nothing is. */
int screen_key(int ms, int cursor);

/* The last line of the messages that came since it was asked for; NULL: there are none. To be
 * freed. */
char *screen_message(void);

#endif
