import type { CommandSpec } from "../command.ts";
import { versionCommand } from "./version.ts";

/** Every verb, in the order `--help` shows them. */
export const commands: readonly CommandSpec[] = [versionCommand];
