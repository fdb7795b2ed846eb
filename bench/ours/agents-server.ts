import { mkdir } from "node:fs/promises";
import { RunAction } from "#kernel/dialect/index.ts";
import { addController } from "#dialects/tinkerbell/controller.ts";
import { Agent } from "#kernel/agents/index.ts";
import { Hardware, Template, Workflow, WorkflowV2 } from "#dialects/tinkerbell/kinds.ts";
import { addTinkerbellServer } from "#dialects/tinkerbell/server/server.ts";
import { ok, silentLog, systemClock } from "#lib/base/index.ts";
import { toCrds } from "#lib/schema/index.ts";
import { createApiServer, openStore } from "#kernel/apiserver/index.ts";
import { type ApiClient, installCrds, Manager } from "#kernel/kit/index.ts";
import { longestHold } from "../harness/loop-delay.ts";
import { atRate, type PacedLoad, type PacedWrites } from "../harness/open-loop.ts";
import { actionCount, agentName, type AgentServer, requireFiles, tlsFiles, workflowName } from "./agents.ts";

// B5: the controller and the agents' server of one durable API server, as `slipway up` has them. Templates are not carried out, which T1 and T2
// measure: the renderer answers the same plan each time.

const namespace = "default";
let client: ApiClient | undefined;

export async function start({ dir, port = 0, isTls, agents }: AgentServer): Promise<{ readonly port: number }> {
  requireFiles(agents);
  await mkdir(dir, { recursive: true });
  const store = await openStore(`${dir}/store`);
  const server = await createApiServer({ store, clock: systemClock, log: silentLog, version: "0.0.0" });
  client = server.client();
  const parts = { client, clock: systemClock, log: silentLog, random: Math.random };
  const kinds = [Hardware, Template, Workflow, WorkflowV2, Agent, RunAction];
  await installCrds(client, toCrds(kinds), { ...parts, signal: new AbortController().signal });
  await client.create(Template, templateOf()).catch(() => undefined); // The server before has made it.
  const manager = new Manager(parts);
  addController(manager, { renderer });
  const tls = isTls ? { tls: await tlsFiles(dir) } : {};
  const listening = addTinkerbellServer(manager, { listen: `127.0.0.1:${port}`, ...tls });
  // Runs until the process ends.
  void manager.run(new AbortController().signal);
  return { port: await listening.port };
}

const templateOf = (): Template => ({
  apiVersion: "tinkerbell.org/v1alpha1",
  kind: "Template",
  metadata: { name: "bench", namespace },
  spec: { data: "bench" },
});

const renderer: Parameters<typeof addController>[1]["renderer"] = {
  parse: () => Promise.resolve(ok(undefined)),
  renderActions: () => Promise.reject(new Error("no template of this version is asked for")),
  render: ({ values }) =>
    Promise.resolve(
      ok({
        version: "0.1",
        name: "bench",
        globalTimeout: 0,
        tasks: [
          {
            name: "task",
            worker: values["worker"] ?? "",
            volumes: ["/dev:/dev"],
            environment: {},
            actions: Array.from({ length: actionCount }, (_, at) => ({
              name: `action ${at}`,
              image: "quay.io/tinkerbell/actions/writefile:latest",
              timeout: 90,
              command: ["/usr/bin/writefile"],
              volumes: [],
              environment: { DEST_DISK: `/dev/nvme0n1p${at}`, FS_TYPE: "ext4", MODE: "0644" },
              pid: "",
              namespaces: { pid: "", network: "" },
            })),
          },
        ],
        overwritten: [],
        ignored: [],
      }),
    ),
};

let created = 0;

/** Creates workflows at a fixed rate, each for the next agent. */
export async function assign({ agents, ...load }: PacedLoad & { readonly agents: number }): Promise<PacedWrites> {
  const first = created;
  const figures = await atRate(load, () => {
    const at = created++;
    return api().create<Workflow>(Workflow, {
      apiVersion: "tinkerbell.org/v1alpha1",
      kind: "Workflow",
      metadata: { name: workflowName(at), namespace },
      spec: { templateRef: "bench", hardwareMap: { worker: agentName(at % agents) } },
    });
  });
  return { first, ...figures };
}

/** Throws unless all of them have succeeded; then they are removed. */
export async function clear({ first, writes }: Pick<PacedWrites, "first" | "writes">): Promise<void> {
  const { items } = await api().list<Workflow>(Workflow, { namespace });
  const done = items.filter(({ status }) => status?.state === "SUCCESS");
  if (done.length !== writes) throw new Error(`${done.length} of ${writes} workflows have succeeded`);
  if (items.some(({ metadata: { name } }) => Number(name.slice(2)) < first)) throw new Error("an older one is there");
  for (const { metadata } of items) await api().delete({ type: Workflow, namespace, name: metadata.name });
}

export const held = (): number => longestHold();

const api = (): ApiClient => {
  if (client === undefined) throw new Error("not started");
  return client;
};
