import { join } from "node:path";
import { isJsonObject, SlipwayError } from "#lib/base/index.ts";
import { makeDirectories, readTextIfPresent, replaceFile } from "#lib/base/index.node.ts";
import { type AgentState, idle } from "./agent-state.ts";

export interface Journal {
  /** The last state written; an idle one if there is none. */
  read(): Promise<AgentState>;
  /** Resolves when the state is durable. One at a time. */
  write(state: AgentState): Promise<void>;
}

const format = 1;

/** The journal in `directory`/current.json, replaced atomically. Private, because environments hold secrets. */
export function fileJournal(directory: string): Journal {
  const path = join(directory, "current.json");
  return {
    async read() {
      const text = await readTextIfPresent(path);
      return text === undefined ? idle : decode(path, text);
    },
    async write(state) {
      await makeDirectories(directory, 0o700);
      await replaceFile(path, JSON.stringify({ format, state }));
    },
  };
}

/** An unreadable journal was changed by others; starting over could run an action twice. */
function decode(path: string, text: string): AgentState {
  try {
    const value: unknown = JSON.parse(text);
    if (isJsonObject(value) && value["format"] === format && isJsonObject(value["state"]))
      return value["state"] as unknown as AgentState;
  } catch {
    // Reported below.
  }
  throw new SlipwayError("agent-journal", `${path} is not a journal of this release of the agent`, {
    hint: "remove it if the interrupted action may run again",
  });
}
