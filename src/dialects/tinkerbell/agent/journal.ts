import { type FileHandle, open, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { codeOf, isJsonObject, SlipwayError } from "#lib/base/index.ts";
import { makeDirectories } from "#lib/base/index.node.ts";
import { type AgentState, idle } from "./agent-state.ts";

/** What is kept of an agent across its own end. */
export interface Journal {
  /** As it was written last; of an agent that is new here, one that is idle. */
  read(): Promise<AgentState>;
  /** Resolves when no crash can undo it. One at a time. */
  write(state: AgentState): Promise<void>;
}

/** Of the file's format: a later release that writes another one says so. */
const format = 1;

/**
 * The journal in `directory`/current.json. The file is always a whole one, old or new: it is written beside, flushed, and renamed, and the
 * rename is flushed, too. Only its user can read it, because actions have secrets in their environment.
 */
export function fileJournal(directory: string): Journal {
  const path = join(directory, "current.json");
  return {
    async read() {
      const text = await readFile(path, "utf8").catch((thrown: unknown) => {
        if (codeOf(thrown) === "ENOENT") return undefined;
        throw thrown;
      });
      return text === undefined ? idle : decode(path, text);
    },
    async write(state) {
      await makeDirectories(directory, 0o700);
      const next = `${path}.next`;
      await flushed(await open(next, "w", 0o600), JSON.stringify({ format, state }));
      await rename(next, path);
      await flushed(await open(directory, "r"));
    },
  };
}

/** Writes, if there is something to write, and waits for the disk. */
async function flushed(file: FileHandle, text?: string): Promise<void> {
  try {
    if (text !== undefined) await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** A file of ours is never half written: what cannot be read was changed by somebody, and to begin anew could run an action again. */
function decode(path: string, text: string): AgentState {
  try {
    const value: unknown = JSON.parse(text);
    if (isJsonObject(value) && value["format"] === format && isJsonObject(value["state"]))
      return value["state"] as unknown as AgentState;
  } catch {
    // Told below like everything else that is no journal.
  }
  throw new SlipwayError("agent-journal", `${path} is not a journal of this release of the agent`, {
    hint: "remove it if the action that this machine was at may be carried out again",
  });
}
