import type { CommandSpec } from "#kernel/command/index.ts";

export const commands: readonly CommandSpec[] = [];
