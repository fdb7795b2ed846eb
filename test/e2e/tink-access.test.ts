import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { connectApi } from "#test/support/api.ts";
import { OtherUser } from "#test/support/other-user.ts";
import { rounds } from "#test/support/rounds.ts";
import {
  agentAddress,
  cleanEnvironment,
  endRunner,
  exec,
  removeDirectory,
  root,
  slipwayBin,
  startServer,
  temporaryDirectory,
  type TestServer,
} from "#test/support/slipway.ts";

// Who may act as an agent of a `slipway up`: programs of its user without being told anything, other users of the machine not at all.

const patience = { timeout: 60_000 };
let directory: string;
let server: TestServer | undefined;
let other: OtherUser;
const agents: ChildProcess[] = [];
beforeEach(async () => {
  [directory, other] = await Promise.all([temporaryDirectory(), OtherUser.open()]);
  await mkdir(join(directory, "run"), { mode: 0o700 });
});
afterEach(async () => {
  for (const agent of agents.splice(0)) agent.kill("SIGKILL");
  await server?.stop();
  if (server !== undefined) await Promise.all([endRunner(server.directory), endRunner(join(directory, "agent"))]);
  server = undefined;
  await Promise.all([removeDirectory(directory), other.close()]);
});

/** Of this user, with a directory for notes that no other test shares. */
const own = () => ({ HOME: directory, XDG_RUNTIME_DIR: join(directory, "run") });
const up = async (...args: readonly string[]): Promise<TestServer> =>
  (server = await startServer(join(directory, "data"), args, { ...own(), SLIPWAY_TINK_LISTEN: "" }));

function startAgent(...more: readonly string[]) {
  const words = ["agent", "--id", "node-7", "--runtime", "host", "--state-dir", join(directory, "agent"), ...more];
  const child = spawn(process.execPath, [slipwayBin, ...words], {
    env: cleanEnvironment(own()),
    stdio: ["ignore", "ignore", "pipe"],
  });
  const agent = { said: "" };
  child.stderr.on("data", (chunk: Buffer) => (agent.said += chunk.toString()));
  agents.push(child);
  return agent;
}

async function kubectl(words: readonly string[], input = ""): Promise<string> {
  const { code, out, err } = await exec("kubectl", ["--kubeconfig", server?.kubeconfig ?? "", ...words], { input });
  expect(code, err).toBe(0);
  return out;
}

/** A workflow for node-7 whose action knows a password. */
async function apply(): Promise<void> {
  const command = ["/bin/sh", "-c", `echo "$PASSWORD" >> ${join(directory, "out")}`];
  const action = { name: "a", image: "none", command, environment: { PASSWORD: "correct-horse" } };
  const data = JSON.stringify({ name: "t", tasks: [{ name: "t", worker: "node-7", actions: [action] }] });
  const object = (kind: string, spec: object) =>
    JSON.stringify({ apiVersion: "tinkerbell.org/v1alpha1", kind, metadata: { name: "w" }, spec });
  const objects = `${object("Template", { data })}\n---\n${object("Workflow", { templateRef: "w" })}\n`;
  await kubectl(["apply", "-f", "-"], objects);
}
/** Asked without kubectl, which costs more than all that is waited for. */
async function stateOf(): Promise<string | undefined> {
  const { url, kubeconfig } = server ?? { url: "", kubeconfig: "" };
  const api = await connectApi(url, kubeconfig);
  try {
    const { json } = await api.ask("GET", "/apis/tinkerbell.org/v1alpha1/namespaces/default/workflows/w");
    return (json as { readonly status?: { readonly state?: string } }).status?.state;
  } finally {
    api.close();
  }
}
const storedAgents = async () => (await kubectl(["get", "agents", "-o", "name"])).split("\n").filter(Boolean);

/** Opens streams of made-up ids, and prints how many there were of each way in which they ended, or that they stayed open for a while. */
const attack = `
const grpc = require(process.argv[3]);
const [address, , first, count, token] = process.argv.slice(2);
const client = new grpc.Client(address, grpc.credentials.createInsecure());
const path = "/internal.proto.workflow.v2.WorkflowService/GetWorkflows";
const same = (bytes) => bytes;
const ends = {};
const streamOf = (id) => new Promise((resolve) => {
  const metadata = new grpc.Metadata();
  if (token) metadata.set("authorization", "Bearer " + token);
  const body = Buffer.concat([Buffer.from([10, Buffer.byteLength(id)]), Buffer.from(id)]);
  const call = client.makeServerStreamRequest(path, same, same, body, metadata);
  call.on("data", (bytes) => resolve("told " + bytes.toString("latin1")));
  call.on("metadata", () => resolve("let in"));
  call.on("error", (error) => resolve(grpc.status[error.code]));
});
(async () => {
  for (let at = 0; at < Number(count); at++) {
    const end = await streamOf(first + (Number(count) === 1 ? "" : at));
    ends[end] = (ends[end] ?? 0) + 1;
  }
  console.log(JSON.stringify(ends));
  process.exit(0);
})();
`;

/** The program and what it loads, where another user gets at them: the repository may be hidden from that one. */
async function attackPlace(): Promise<string> {
  const place = join(directory, "attack");
  if (existsSync(place)) return place;
  await mkdir(place, { recursive: true });
  for (const name of ["@grpc", "@js-sdsl", "@protobufjs", "protobufjs", "long", "lodash.camelcase"])
    await cp(join(root, "node_modules", name), join(place, "node_modules", name), {
      recursive: true,
      dereference: true,
    });
  await writeFile(join(place, "attack.cjs"), attack);
  await exec("chmod", ["-R", "a+rX", place]);
  await chmod(directory, 0o711);
  return place;
}

/** What another user of the machine brings about with raw calls. */
async function attackWith(address: string, id: string, count: number, token = ""): Promise<object> {
  const place = await attackPlace();
  const module = join(place, "node_modules/@grpc/grpc-js");
  const words = [join(place, "attack.cjs"), address, module, id, String(count), token];
  const { out } = await other.run(process.execPath, words);
  return JSON.parse(out) as object;
}

test("the port of agents opens with the first object; an agent of the same user waits for it and finds address and token", async () => {
  await up();
  const agent = startAgent();
  await expect.poll(() => agent.said, patience).toContain("waiting for a server of this user that serves agents");
  expect(server?.log()).not.toContain("port opened");
  await apply();
  await expect.poll(stateOf, patience).toBe("SUCCESS");
  expect(server?.log()).toContain("agents of Tinkerbell: port opened");
  expect(await readFile(join(directory, "out"), "utf8")).toBe("correct-horse\n");
});

test("another user's agent receives nothing, made-up ids store nothing, and the token cannot be read", async () => {
  const address = agentAddress(await up("--tink-listen", "127.0.0.1:0"));
  await apply();
  expect(await attackWith(address, "node-7", 1)).toEqual({ UNAUTHENTICATED: 1 });
  expect(await attackWith(address, "invented-", 200)).toEqual({ UNAUTHENTICATED: 200 });
  expect(await attackWith(address, "node-7", 1, "guess")).toEqual({ UNAUTHENTICATED: 1 });
  const token = join(directory, "data/tinkerbell/auth-token");
  expect(await other.run("cat", [token])).toMatchObject({ code: 1, out: expect.stringContaining("Permission denied") });
  expect(await storedAgents()).toEqual([]);
  await expect.poll(stateOf, patience).toBe("PENDING");
  const agent = startAgent("--server", address);
  await expect.poll(stateOf, patience).toBe("SUCCESS");
  expect(agent.said).toContain("connected to the server");
});

test("another user's slipway agent is refused, and says why", async () => {
  const address = agentAddress(await up("--tink-listen", "127.0.0.1:0"));
  await apply();
  // The other user may have no access to the repository.
  const installed = join(directory, "installed");
  await mkdir(installed);
  for (const name of ["bin", "dist", "package.json"])
    await cp(join(root, name), join(installed, name), { recursive: true });
  await exec("chmod", ["-R", "a+rX", installed]);
  await chmod(directory, 0o711);
  const agent = `${process.execPath} ${installed}/bin/slipway.cjs agent --server ${address} --id node-7 --runtime host`;
  const script = `${agent} 2>log & until grep -q "a token is required" log; do sleep 0.1; done; kill $!; cat log`;
  const { out } = await other.run("/bin/sh", ["-c", script]);
  expect(out).toContain("a token is required");
  // Until it is prepared it has no state.
  await expect.poll(stateOf, patience).toBe("PENDING");
  expect(await storedAgents()).toEqual([]);
});

test("a token of one agent opens nothing for another", async () => {
  const address = agentAddress(await up("--tink-listen", "127.0.0.1:0"));
  const hash = createHash("sha256").update("token-of-8").digest("hex");
  await kubectl(["create", "secret", "generic", "tink-agent-tokens", `--from-literal=${hash}=node-8`]);
  await apply();
  await expect.poll(() => attackWith(address, "node-8", 1, "token-of-8"), patience).toEqual({ "let in": 1 });
  expect(await attackWith(address, "node-7", 1, "token-of-8")).toEqual({ PERMISSION_DENIED: 1 });
  await expect.poll(stateOf, patience).toBe("PENDING");
});

/** More than a hundred. */
const madeUp = rounds(120, 2_000);

test("with --tink-anonymous-auth other users are let in, and made-up ids store at most a hundred agents", async () => {
  const address = agentAddress(await up("--tink-listen", "127.0.0.1:0", "--tink-anonymous-auth"));
  await apply();
  expect(await attackWith(address, "invented-", madeUp)).toEqual({ "let in": madeUp });
  await expect.poll(() => server?.log(), patience).toContain("further ones are served but not stored");
  await expect.poll(storedAgents, patience).toHaveLength(100);
});
