import { readFile } from "node:fs/promises";
import { Workflow } from "#dialects/tinkerbell/kinds.ts";
import { logPath, logsIn } from "#dialects/tinkerbell/logs/places.ts";
import { addTinkerbellServer } from "#dialects/tinkerbell/server/server.ts";
import type { AnyWorkflow } from "#dialects/tinkerbell/stored.ts";
import { silentLog, systemClock } from "#lib/base/index.ts";
import { toCrds } from "#lib/schema/index.ts";
import { createApiServer, openStore } from "#kernel/apiserver/index.ts";
import { installCrds, Manager } from "#kernel/kit/index.ts";

// B9: the agents' server, which takes the logs of actions into files: numbered, stamped, cut to their ring, flushed before they are acknowledged.

const namespace = "default";
let directory = "";

/** Whose logs they are. */
export interface LoggedAction {
  readonly port: number;
  readonly workflow: string;
  readonly uid: string;
  readonly action: string;
}

export async function start({ dir }: { readonly dir: string }): Promise<LoggedAction> {
  directory = logsIn(dir);
  const store = await openStore(`${dir}/store`);
  const server = await createApiServer({ store, clock: systemClock, log: silentLog, version: "0.0.0" });
  const client = server.client();
  const parts = { client, clock: systemClock, log: silentLog, random: Math.random };
  await installCrds(client, toCrds([Workflow]), { ...parts, signal: new AbortController().signal });
  const action = "id-0";
  const created = await client.create<AnyWorkflow>(Workflow, {
    apiVersion: "tinkerbell.org/v1alpha1",
    kind: "Workflow",
    metadata: { name: "logged", namespace },
    spec: { templateRef: "bench", hardwareMap: {} },
  });
  const { name, uid } = created.metadata;
  // As the controller prepares it, which is not at work here.
  const task = { id: "task", name: "task", agentID: "agent", actions: [{ id: action, name: "one", image: "busybox" }] };
  const body = { status: { state: "PENDING", agentID: "agent", tasks: [task] } };
  await client.patch({ type: Workflow, namespace, name }, { type: "merge", body }, { subresource: "status" });
  const manager = new Manager(parts);
  const listening = addTinkerbellServer(manager, { listen: "127.0.0.1:0", logs: { directory } });
  // Runs until the process ends.
  void manager.run(new AbortController().signal);
  return { port: await listening.port, workflow: `${namespace}/${name}/${uid}`, uid, action };
}

/** The last line that is in the file, without what is written before each. */
export async function lastLine({ uid, action }: LoggedAction): Promise<string> {
  const lines = (await readFile(logPath(directory, uid, action), "latin1")).trimEnd().split("\n");
  return lines.at(-1)?.split(" ").slice(3).join(" ") ?? "";
}
