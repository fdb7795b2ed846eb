import type { CommandSpec } from "#kernel/command/index.ts";
import { clusterCommands } from "./commands/cluster.ts";

export const commands: readonly CommandSpec[] = [...clusterCommands];
