/* SPDX-License-Identifier: Apache-2.0 */
/* The subcommands: each takes argv with its own name first and returns an enum status. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

/* Executes the recorder; returns only on failure. */
int command_record(int argc, char **argv);
int command_report(int argc, char **argv);
int command_top(int argc, char **argv);
int command_annotate(int argc, char **argv);
int command_values(int argc, char **argv);
int command_script(int argc, char **argv);
int command_folded(int argc, char **argv);
int command_flamegraph(int argc, char **argv);
int command_aggregate(int argc, char **argv);
int command_export(int argc, char **argv);
int command_sql(int argc, char **argv);
int command_diff(int argc, char **argv);
int command_info(int argc, char **argv);
int command_doctor(int argc, char **argv);
int command_dump(int argc, char **argv);
int command_table(int argc, char **argv);
int command_import(int argc, char **argv);
int command_keygen(int argc, char **argv);
int command_scrub(int argc, char **argv);
int command_cut(int argc, char **argv);
int command_core(int argc, char **argv);
int command_gdb(int argc, char **argv);
int command_ls(int argc, char **argv);
int command_merge(int argc, char **argv);
int command_shrink(int argc, char **argv);
int command_pack(int argc, char **argv);
int command_unpack(int argc, char **argv);
int command_resolve(int argc, char **argv);
int command_verify(int argc, char **argv);
int command_view(int argc, char **argv);
int command_repair(int argc, char **argv);

#endif
