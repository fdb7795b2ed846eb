import { join } from "node:path";
import { isJsonObject } from "#lib/base/index.ts";
import { makeDirectories, readTextIfPresent, replaceFile, thisProcess } from "#lib/base/index.node.ts";
import type { KnownMachine } from "./agent-state.ts";
import { decoded } from "./client.ts";

/** What an agent knew of its machine, for the next one on the same host. */
export interface AgentJournal {
  /** Undefined if nothing is noted, or the host was booted since. */
  read(): Promise<KnownMachine | undefined>;
  write(machine: KnownMachine): Promise<void>;
}

/** `DIRECTORY/UUID.state`, replaced atomically. An unreadable file counts as missing: only a reboot would be missed. */
export function fileJournal(directory: string, uuid: string, bootId = thisProcess().boot ?? ""): AgentJournal {
  const path = join(directory, `${uuid}.state`);
  let written = "";
  return {
    async read() {
      const text = await readTextIfPresent(path);
      try {
        const noted: unknown = JSON.parse(text ?? "null");
        if (!isJsonObject(noted) || noted["bootId"] !== bootId || !isJsonObject(noted["machine"])) return undefined;
        const machine = noted["machine"];
        return machine["Uuid"] === uuid && typeof machine["BootEnv"] === "string"
          ? decoded<KnownMachine>(machine)
          : undefined;
      } catch {
        return undefined;
      }
    },
    async write(machine) {
      const text = JSON.stringify({ bootId, machine });
      if (text === written) return;
      await makeDirectories(directory, 0o700);
      await replaceFile(path, text);
      written = text;
    },
  };
}
