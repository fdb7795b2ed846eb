import type { CommandSpec } from "#kernel/command/index.ts";
import { clusterCommands } from "./commands/cluster.ts";
import { defCommand } from "./commands/def.ts";
import { verbs } from "./commands/verbs.ts";

export const commands: readonly CommandSpec[] = [defCommand, ...clusterCommands, ...verbs];
