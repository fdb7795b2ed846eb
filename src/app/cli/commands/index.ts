import { dialects } from "#dialects/index.ts";
import type { CommandSpec } from "#kernel/command/index.ts";
import { actionCommands } from "./actions.ts";
import { applyCommand } from "./apply.ts";
import { artifactsCommand } from "./artifacts.ts";
import { cacheCommand } from "./cache.ts";
import { completeCommand } from "./complete.ts";
import { completionCommand } from "./completion.ts";
import { convertCommand } from "./convert.ts";
import { controllersCommand } from "./controllers.ts";
import { crdsCommand } from "./crds.ts";
import { credentialCommand } from "./credential.ts";
import { deleteCommand } from "./delete.ts";
import { downCommand } from "./down.ts";
import { describeCommand } from "./describe.ts";
import { getCommand } from "./get.ts";
import { diffCommand } from "./diff.ts";
import { graphCommand } from "./graph.ts";
import { lintCommand } from "./lint.ts";
import { logsCommand } from "./logs.ts";
import { resubmitCommand } from "./resubmit.ts";
import { runCommand } from "./run.ts";
import { simulateCommand } from "./simulate.ts";
import { statusCommand } from "./status.ts";
import { storeCommand } from "./store.ts";
import { uiCommand } from "./ui.ts";
import { upCommand } from "./up.ts";
import { versionCommand } from "./version.ts";
import { waitCommand } from "./wait.ts";
import { whyCommand } from "./why.ts";

const verbs: readonly CommandSpec[] = [
  runCommand,
  getCommand,
  describeCommand,
  whyCommand,
  cacheCommand,
  logsCommand,
  artifactsCommand,
  ...actionCommands,
  resubmitCommand,
  waitCommand,
  deleteCommand,
  lintCommand,
  applyCommand,
  graphCommand,
  simulateCommand,
  diffCommand,
  convertCommand,
  upCommand,
  downCommand,
  statusCommand,
  controllersCommand,
  crdsCommand,
  ...dialects.flatMap((dialect) => dialect.commands),
  storeCommand,
  credentialCommand,
  uiCommand,
  completionCommand,
  versionCommand,
];

/** Every verb, in the order of `--help`. The list loads data only; each action imports what it needs. */
export const commands: readonly CommandSpec[] = [...verbs, completeCommand(() => verbs)];
