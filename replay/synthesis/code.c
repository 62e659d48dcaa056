/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "replay/synthesis/code.h"

/* ---- reading ------------------------------------------------------------------------------ */

static bool read(const struct reel_code_reader *reader, uint64_t address, size_t size,
		 uint8_t *bytes_ret)
{
	return reader->input.read_code(reader->input.module, address, size, bytes_ret);
}

/* Reads fewer bytes at the end of the code. */
static void fill_from(const struct reel_code_reader *reader, uint64_t address,
		      struct reel_code_window *window)
{
	size_t size = REEL_CODE_WINDOW / 2;

	while (size && !read(reader, address, size, window->bytes))
		size /= 2;
	window->begin = address;
	window->size = size;
	/* More bytes may follow a part of half the size. */
	while (size && window->size < REEL_INSTRUCTION_SIZE_MAX) {
		if (read(reader, address + window->size, size, window->bytes + window->size))
			window->size += size;
		else
			size /= 2;
	}
}

/* Bytes around an address; those after it that an instruction may need, unless the code ends. */
static void fill(const struct reel_code_reader *reader, uint64_t address,
		 struct reel_code_window *window)
{
	uint64_t begin = address & ~(uint64_t)(REEL_CODE_WINDOW / 2 - 1);

	if (read(reader, begin, REEL_CODE_WINDOW, window->bytes)) {
		window->begin = begin;
		window->size = REEL_CODE_WINDOW;
	} else {
		fill_from(reader, address, window);
	}
}

/* The window that has the bytes from `address` on, if there are any. */
static const struct reel_code_window *window_at(struct reel_code_reader *reader, uint64_t address)
{
	struct reel_code_window *window =
		&reader->windows[address / (REEL_CODE_WINDOW / 2) % REEL_CODE_WINDOWS];
	uint64_t into = address - window->begin;

	if (into >= window->size || window->size - into < REEL_INSTRUCTION_SIZE_MAX)
		fill(reader, address, window);
	return window;
}

bool reel_code_decode(struct reel_code_reader *reader, uint64_t address,
		      struct reel_instruction *ret)
{
	const struct reel_code_window *window = window_at(reader, address);
	size_t into = (size_t)(address - window->begin), size = window->size - into, used;
	bool decoded =
		size && reel_decode(reader->decoder, window->bytes + into, size, address, ret);

	reader->is_readable = size;
	used = size < REEL_INSTRUCTION_SIZE_MAX ? size : REEL_INSTRUCTION_SIZE_MAX;
	used = decoded ? ret->size : used;
	if (used)
		reel_code_seen_note(reader, address, used);
	if (!decoded && used < REEL_INSTRUCTION_SIZE_MAX)
		reel_code_seen_note(reader, address + used, 0);
	return decoded;
}

/* ---- following ------------------------------------------------------------------------------ */

/* A graph under construction. */
struct follower {
	struct reel_code_reader *reader;
	struct reel_code_graph *graph;
	bool use_cfi;
	bool (*is_known)(void *context, uint64_t address, bool ends_at_cfi);
	void *context;
	/* Addresses for which the presence of CFI is known. */
	uint64_t known_begin, known_end;
	uint64_t last_without; /* the last address without CFI */
	uint32_t *open;	       /* nodes still to visit */
	size_t n_open, open_capacity;
	bool short_of_memory;
};

static uint32_t *index_of(const struct reel_code_graph *graph, uint64_t address)
{
	size_t at = address * 0x9e3779b97f4a7c15 >> 40 & graph->index_mask;

	while (graph->index[at] && graph->nodes[graph->index[at] - 1].address != address)
		at = (at + 1) & graph->index_mask;
	return &graph->index[at];
}

/* At most half of the index is used. */
static bool grow_index(struct reel_code_graph *graph)
{
	size_t size = graph->index ? 2 * (graph->index_mask + 1) : 256;
	uint32_t *index = calloc(size, sizeof(*index));

	if (!index)
		return false;
	free(graph->index);
	graph->index = index;
	graph->index_mask = size - 1;
	for (uint32_t i = 0; i < graph->n; i++)
		*index_of(graph, graph->nodes[i].address) = i + 1;
	return true;
}

static bool has_cfi(struct follower *follower, uint64_t address)
{
	struct reel_cfi_row row;

	if (!follower->use_cfi || address == follower->last_without)
		return false;
	reel_code_seen_note_source(follower->reader, address);
	if (address - follower->known_begin < follower->known_end - follower->known_begin)
		return true;
	if (follower->reader->input.find_row(follower->reader->input.rows, address, &row) !=
	    REEL_CFI_FOUND) {
		follower->last_without = address;
		return false;
	}
	follower->known_begin = row.fde_begin;
	follower->known_end = row.fde_end;
	return true;
}

/* The node of an address, to be visited if it is new. */
static uint32_t node_at(struct follower *follower, uint64_t address)
{
	struct reel_code_graph *graph = follower->graph;
	uint32_t *index = index_of(graph, address);

	if (*index)
		return *index - 1;
	if (2 * graph->n > graph->index_mask) {
		if (!grow_index(graph)) {
			follower->short_of_memory = true;
			return REEL_CODE_NO_NODE;
		}
		index = index_of(graph, address);
	}
	if (graph->n == REEL_CODE_NODES_MAX) {
		graph->truncated = true;
		return REEL_CODE_NO_NODE;
	}
	if (!reel_array_reserve(&graph->nodes, graph->n, &graph->capacity, sizeof(*graph->nodes)) ||
	    !reel_array_reserve(&follower->open, follower->n_open, &follower->open_capacity,
				sizeof(*follower->open))) {
		follower->short_of_memory = true;
		return REEL_CODE_NO_NODE;
	}
	graph->nodes[graph->n] = (struct reel_code_node){
		.address = address,
		.next = REEL_CODE_NO_NODE,
		.target = REEL_CODE_NO_NODE,
	};
	follower->open[follower->n_open++] = (uint32_t)graph->n;
	*index = (uint32_t)++graph->n;
	return (uint32_t)graph->n - 1;
}

static size_t instruction_size(const struct reel_instruction *instruction)
{
	return offsetof(struct reel_instruction, effects) +
	       instruction->n_effects * sizeof(instruction->effects[0]);
}

/* Stores the used part of the instruction. */
static bool keep(struct reel_code_graph *graph, const struct reel_instruction *instruction,
		 uint32_t *ret)
{
	size_t size = (instruction_size(instruction) + 7) & ~(size_t)7;

	if (!reel_array_fit(&graph->instructions, graph->size + size, &graph->instructions_capacity,
			    1))
		return false;
	memcpy(graph->instructions + graph->size, instruction, instruction_size(instruction));
	*ret = (uint32_t)graph->size;
	graph->size += size;
	return true;
}

void reel_code_make_push(const struct reel_arch *arch, struct reel_instruction *instruction)
{
	uint8_t sp = reel_arch_slot(arch, arch->sp);

	instruction->flow = REEL_FLOW_NEXT;
	instruction->n_effects = 2;
	instruction->effects[0] =
		(struct reel_effect){ .slot = sp,
				      .value = reel_value_of_register(sp, -arch->word_size) };
	instruction->effects[1] =
		(struct reel_effect){ .slot = sp, .size = arch->word_size, .at = -arch->word_size };
}

/* Code does not run on into a function with CFI: the preceding code has called a function that
 * never returns, or is data. */
static bool goes_on(struct follower *follower, const struct reel_instruction *instruction,
		    uint64_t next)
{
	switch ((enum reel_flow)instruction->flow) {
	case REEL_FLOW_NEXT:
	case REEL_FLOW_BRANCH:
	case REEL_FLOW_RETURN_OR_NEXT:
	case REEL_FLOW_CALL:
		return !has_cfi(follower, next) || next != follower->known_begin;
	default:
		return false;
	}
}

/*
 * A call of the next instruction is a push if the code there uses the pushed address
 * (position-independent code of i386).  Otherwise, a function that never returns ends here, and the
 * function that it calls happens to be next (deno).
 */
static bool pushes_its_address(struct follower *follower, const struct reel_instruction *call,
			       uint64_t next)
{
	const struct reel_arch *arch = follower->reader->input.arch;
	uint8_t sp = reel_arch_slot(arch, arch->sp);
	struct reel_instruction first;

	if (call->flow != REEL_FLOW_CALL || arch->flags & REEL_ARCH_LINK_REGISTER ||
	    !call->has_target || call->target != next)
		return false;
	if (!reel_code_decode(follower->reader, next, &first))
		return true;
	for (unsigned i = 0; i < first.n_effects; i++) {
		const struct reel_effect *effect = &first.effects[i];

		if ((effect->size && effect->slot == sp && !effect->at) ||
		    (effect->value.kind == REEL_VALUE_MEMORY && effect->value.slot == sp &&
		     !effect->value.at))
			return true;
	}
	return false;
}

/*
 * A call whose target begins by popping the return address (Guile's JIT keeps it on a stack of its
 * own): the code there continues with the caller's frame, as after a jump.
 */
static bool passes_its_address(struct follower *follower, const struct reel_instruction *call)
{
	const struct reel_arch *arch = follower->reader->input.arch;
	uint8_t sp = reel_arch_slot(arch, arch->sp);
	struct reel_instruction first;

	return call->flow == REEL_FLOW_CALL && call->has_target &&
	       !(arch->flags & REEL_ARCH_LINK_REGISTER) && !has_cfi(follower, call->target) &&
	       reel_code_decode(follower->reader, call->target, &first) &&
	       first.flow == REEL_FLOW_NEXT &&
	       reel_value_equal(reel_instruction_sets(&first, sp),
				reel_value_of_register(sp, arch->word_size));
}

static void look_at(struct follower *follower, uint32_t number)
{
	struct reel_code_graph *graph = follower->graph;
	const struct reel_arch *arch = follower->reader->input.arch;
	struct reel_code_node *node = &graph->nodes[number];
	struct reel_instruction instruction;
	uint64_t address = node->address, next;
	uint32_t linked;
	bool jumps;

	if (number && has_cfi(follower, address)) {
		node->flags |= REEL_CODE_HAS_CFI;
		return;
	}
	if (number && follower->is_known &&
	    follower->is_known(follower->context, address, follower->use_cfi)) {
		node->flags |= REEL_CODE_KNOWN;
		return;
	}
	if (!reel_code_decode(follower->reader, address, &instruction)) {
		node->flags |= REEL_CODE_OPEN;
		/* Code of another module, not available here. */
		if (!follower->reader->is_readable && node->flags & REEL_CODE_JUMPED_TO)
			node->flags |= REEL_CODE_LEAVES;
		instruction = (struct reel_instruction){
			.flow = REEL_FLOW_END,
			.through = REEL_ARCH_NO_SLOT,
		};
	}
	next = address + instruction.size;
	if (pushes_its_address(follower, &instruction, next))
		reel_code_make_push(arch, &instruction);
	jumps = instruction.flow == REEL_FLOW_JUMP || instruction.flow == REEL_FLOW_BRANCH ||
		passes_its_address(follower, &instruction);
	if (jumps && !instruction.has_target)
		node->flags |= REEL_CODE_OPEN | REEL_CODE_LEAVES;
	if (!keep(graph, &instruction, &node->instruction)) {
		follower->short_of_memory = true;
		return;
	}
	/* Add a jump's target first, so that the following instruction is visited next. */
	if (jumps && instruction.has_target) {
		linked = node_at(follower, instruction.target);
		graph->nodes[number].target = linked;
		if (linked != REEL_CODE_NO_NODE)
			graph->nodes[linked].flags |= REEL_CODE_JUMPED_TO;
		else
			graph->nodes[number].flags |= REEL_CODE_OPEN;
	}
	if (goes_on(follower, &instruction, next)) {
		linked = node_at(follower, next);
		graph->nodes[number].next = linked;
		if (linked == REEL_CODE_NO_NODE)
			graph->nodes[number].flags |= REEL_CODE_OPEN;
	}
}

bool reel_code_follow(struct reel_code_reader *reader, uint64_t begin, bool use_cfi,
		      bool (*is_known)(void *context, uint64_t address, bool ends_at_cfi),
		      void *context, struct reel_code_graph *ret)
{
	struct follower follower = {
		.reader = reader,
		.graph = ret,
		.is_known = is_known,
		.context = context,
		.last_without = UINT64_MAX,
	};

	*ret = (struct reel_code_graph){ 0 };
	if (!grow_index(ret))
		return false;
	/* Code with CFI is also followed through other code with CFI. */
	follower.use_cfi = use_cfi && reader->input.find_row;
	if (has_cfi(&follower, begin))
		follower.use_cfi = false;
	ret->ends_at_cfi = follower.use_cfi;
	node_at(&follower, begin);
	while (follower.n_open && !follower.short_of_memory)
		look_at(&follower, follower.open[--follower.n_open]);
	free(follower.open);
	if (follower.short_of_memory)
		reel_code_graph_free(ret);
	return !follower.short_of_memory;
}

#define VISITED (REEL_CODE_NO_NODE - 1)

/* The node's first successor that was not visited; NO_NODE without one. */
static uint32_t not_visited(const struct reel_code_node *node, const uint32_t *places)
{
	if (node->target != REEL_CODE_NO_NODE && places[node->target] == REEL_CODE_NO_NODE)
		return node->target;
	if (node->next != REEL_CODE_NO_NODE && places[node->next] == REEL_CODE_NO_NODE)
		return node->next;
	return REEL_CODE_NO_NODE;
}

bool reel_code_sort(struct reel_code_graph *graph)
{
	struct reel_code_node *nodes = malloc(graph->n * sizeof(*nodes));
	uint32_t *places = malloc(2 * graph->n * sizeof(*places)), *way = places + graph->n;
	size_t n_way = 0, left = graph->n;

	if (!nodes || !places) {
		free(nodes);
		free(places);
		return false;
	}
	memset(places, 0xff, graph->n * sizeof(*places));
	for (uint32_t at = 0; at != REEL_CODE_NO_NODE;) {
		uint32_t successor;

		places[at] = VISITED;
		successor = not_visited(&graph->nodes[at], places);
		if (successor != REEL_CODE_NO_NODE) {
			way[n_way++] = at;
			at = successor;
			continue;
		}
		places[at] = (uint32_t)--left;
		nodes[left] = graph->nodes[at];
		at = n_way ? way[--n_way] : REEL_CODE_NO_NODE;
	}
	for (size_t i = 0; i < graph->n; i++) {
		if (nodes[i].next != REEL_CODE_NO_NODE)
			nodes[i].next = places[nodes[i].next];
		if (nodes[i].target != REEL_CODE_NO_NODE)
			nodes[i].target = places[nodes[i].target];
	}
	free(places);
	free(graph->nodes);
	free(graph->index);
	graph->nodes = nodes;
	graph->capacity = graph->n;
	graph->index = NULL;
	return true;
}

void reel_code_graph_free(struct reel_code_graph *graph)
{
	free(graph->nodes);
	free(graph->instructions);
	free(graph->index);
	*graph = (struct reel_code_graph){ 0 };
}

const struct reel_instruction *reel_code_instruction(const struct reel_code_graph *graph,
						     const struct reel_code_node *node)
{
	return (const struct reel_instruction *)(graph->instructions + node->instruction);
}
