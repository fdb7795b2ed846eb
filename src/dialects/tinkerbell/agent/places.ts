import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { hasCode, recover } from "#lib/base/index.ts";
import { fileName } from "#kernel/streams/index.ts";
import { logPath, logsIn } from "../logs/places.ts";
import type { Execution } from "./work.ts";

// What an agent keeps in its state directory:
//
//   current.json                       the journal
//   logs/<workflow uid>/<action>.log   what actions have printed; stays for the last hundred workflows
//                       <action>.log.push     how much of it a server has
//   work/<execution>/                  of one execution: its failure files, and on the host its directory
//   runner/                            of the host runtime

/** The last part of `<namespace>/<name>/<uid>`, or the whole id if it has another form. */
export const uidOf = (workflow: string): string => workflow.slice(workflow.lastIndexOf("/") + 1);

/** Unique per execution: workflow uid, action and attempt. */
export const keyOf = ({ workflow, action, attempt }: Execution): string =>
  `${fileName(uidOf(workflow))}/${fileName(action.id)}/${attempt}`;

export const logPathOf = (directory: string, { workflow, action }: Execution): string =>
  logPath(logsIn(directory), uidOf(workflow), action.id);

/** Changes with each rewriting of the log: see `FeedPlace`. */
export const writingFileOf = (log: string): string => `${log}.writing`;

const workDirectories = (directory: string): string => join(directory, "work");

export const workDirectoryOf = (directory: string, execution: Execution): string =>
  join(workDirectories(directory), keyOf(execution).replaceAll("/", "+"));

/** Removes traces of all executions but one. Logs stay. */
export async function removeWork(directory: string, keep: Execution | undefined): Promise<void> {
  const kept = keep === undefined ? undefined : workDirectoryOf(directory, keep);
  const names = await readdir(workDirectories(directory)).catch(recover(hasCode("ENOENT"), []));
  for (const name of names) {
    const place = join(workDirectories(directory), name);
    if (place !== kept) await rm(place, { recursive: true, force: true });
  }
}
