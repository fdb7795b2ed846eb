import { type ClosedFigures, closedLoop } from "../harness/closed-loop.ts";
import { HttpConnection, requestHead, type Target } from "./http-connection.ts";

// R1: each machine asks for its next job, says that it runs and that it has finished, over a connection of its own. Against the floor
// three PUTs with the same headers and a body of a job's size.

export interface RebarTarget extends Target {
  readonly ca: string;
  /** `Authorization` of who prepares; absent: the floor. */
  readonly authorization?: string;
}

interface Machine {
  readonly uuid: string;
  readonly authorization: string;
  readonly connection: HttpConnection;
  lastJob: string;
}

/** So many tasks has a workflow; then it begins anew, with one more request. */
const taskCount = 30;
const state = { machines: [] as Machine[], authorization: "", isBare: false };

const jobBody = JSON.stringify({
  ...Object.fromEntries(["Uuid", "Previous", "Machine"].map((name) => [name, "0c2a45b8-7d1c-4b8e-9b53-5d4d3bb6b3a1"])),
  ...Object.fromEntries(
    ["Task", "Stage", "Workflow", "BootEnv", "State", "ExitState"].map((name) => [name, "bench-17"]),
  ),
  ...Object.fromEntries(["StartTime", "EndTime"].map((name) => [name, "2026-01-01T00:00:00.000000000Z"])),
  ...Object.fromEntries(["Current", "Archived", "Validated", "Available", "ReadOnly"].map((name) => [name, true])),
  Meta: {},
  Errors: [],
  CurrentIndex: 17,
  NextIndex: 18,
});

const jobPath = "/api/v3/jobs/0c2a45b8-7d1c-4b8e-9b53-5d4d3bb6b3a1";
/** As long as a machine's. */
const bareToken = `Bearer ${"x".repeat(190)}`;

/** Sends a request with JSON and reads the answer's. */
export async function ask(
  connection: HttpConnection,
  method: string,
  path: string,
  authorization: string,
  body = "",
): Promise<{ readonly status: number; readonly json: Readonly<Record<string, unknown>> }> {
  const head = requestHead(method, path, {
    Authorization: authorization,
    "Content-Type": "application/json",
    "Content-Length": Buffer.byteLength(body),
  });
  const { status, body: bytes } = await connection.send(head + body);
  const text = bytes.toString("utf8");
  if (status >= 300) throw new Error(`${method} ${path} was answered with ${status}: ${text.slice(0, 300)}`);
  return { status, json: text === "" ? {} : (JSON.parse(text) as Readonly<Record<string, unknown>>) };
}

export const textIn = (json: Readonly<Record<string, unknown>>, name: string): string => {
  const value = json[name];
  if (typeof value !== "string") throw new Error(`no ${name} in ${JSON.stringify(json).slice(0, 300)}`);
  return value;
};

export async function connect({ authorization, ...target }: RebarTarget & { readonly count: number }): Promise<void> {
  const { count } = target;
  const connections = await Promise.all(Array.from({ length: count }, () => HttpConnection.open(target)));
  state.isBare = authorization === undefined;
  state.authorization = authorization ?? "";
  const [first] = connections;
  if (authorization !== undefined && first !== undefined) await prepare(first, authorization);
  for (const [index, connection] of connections.entries())
    state.machines.push({ ...(await machineOf(connection, index)), connection, lastJob: "" });
}

async function prepare(connection: HttpConnection, authorization: string): Promise<void> {
  const post = (collection: string, object: object) =>
    ask(connection, "POST", `/api/v3/${collection}`, authorization, JSON.stringify(object));
  const tasks = Array.from({ length: taskCount }, (_, index) => `bench-${index}`);
  for (const Name of tasks) await post("tasks", { Name, Templates: [] });
  await post("stages", { Name: "bench", Tasks: tasks });
  await post("workflows", { Name: "bench", Stages: ["bench"] });
}

async function machineOf(connection: HttpConnection, index: number): Promise<Omit<Machine, "connection" | "lastJob">> {
  if (state.isBare) return { uuid: "", authorization: "" };
  const { authorization } = state;
  const sent = JSON.stringify({ Name: `bench-${index}`, Workflow: "bench", Runnable: true });
  const uuid = textIn((await ask(connection, "POST", "/api/v3/machines", authorization, sent)).json, "Uuid");
  const { json } = await ask(connection, "GET", `/api/v3/machines/${uuid}/token?ttl=86400`, authorization);
  return { uuid, authorization: `Bearer ${textIn(json, "Token")}` };
}

export async function run({ ms }: { readonly ms: number }): Promise<ClosedFigures> {
  const { machines, isBare } = state;
  const figures = await closedLoop({ ms, inFlight: machines.length }, async (_id, caller) => {
    const machine = machines[caller];
    if (machine === undefined) throw new Error("not connected");
    await (isBare ? putThrice(machine) : runJob(machine));
  });
  if (!isBare) for (const machine of machines) await check(machine);
  return figures;
}

async function putThrice({ connection }: Machine): Promise<void> {
  for (let count = 0; count < 3; count++) await ask(connection, "PUT", jobPath, bareToken, jobBody);
}

const to = (State: string): string => JSON.stringify([{ op: "replace", path: "/State", value: State }]);

async function runJob(machine: Machine): Promise<void> {
  const { connection, authorization } = machine;
  const uuid = await nextJob(machine);
  machine.lastJob = uuid;
  for (const State of ["running", "finished"]) {
    const { json } = await ask(connection, "PATCH", `/api/v3/jobs/${uuid}`, authorization, to(State));
    if (json["State"] !== State) throw new Error(`job ${uuid} is ${String(json["State"])} instead of ${State}`);
  }
}

/** Entries that the server carries out by itself come back finished. */
async function nextJob({ connection, authorization, uuid }: Machine): Promise<string> {
  const body = JSON.stringify({ Machine: uuid });
  for (let tries = 0; tries < 10; tries++) {
    const { status, json } = await ask(connection, "POST", "/api/v3/jobs", authorization, body);
    if (status === 201 && json["State"] === "created") return textIn(json, "Uuid");
    if (status === 204) {
      const again = JSON.stringify([{ op: "replace", path: "/CurrentTask", value: -1 }]);
      await ask(connection, "PATCH", `/api/v3/machines/${uuid}`, state.authorization, again);
    }
  }
  throw new Error(`machine ${uuid} has no next job`);
}

/** What was acknowledged is what is there. */
async function check({ connection, uuid, lastJob }: Machine): Promise<void> {
  const { json } = await ask(connection, "GET", `/api/v3/machines/${uuid}`, state.authorization);
  const job = (await ask(connection, "GET", `/api/v3/jobs/${lastJob}`, state.authorization)).json;
  if (json["CurrentJob"] !== lastJob || job["State"] !== "finished" || job["Current"] !== true)
    throw new Error(`job ${lastJob} of machine ${uuid} is not as it was acknowledged: ${JSON.stringify(job)}`);
}
