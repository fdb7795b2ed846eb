import { expect, test } from "vitest";
import { agentOptions, type AgentOption, readAgentOptions, variableOf } from "./agent-options.ts";

type Flags = Readonly<Partial<Record<AgentOption, string | boolean>>>;

const read = (flags: Flags, variables: Readonly<Record<string, string>> = {}) =>
  readAgentOptions(
    { flag: (option) => flags[option], variable: (name) => variables[name] },
    {
      id: "52:54:00:00:00:01",
      directory: "/home/me/.slipway/agent",
      resolve: (path) => (path.startsWith("/") ? path : `/here/${path}`),
      readText: async (path) => `in ${path}\n`,
    },
  );

const server = "provision.example:42113";
const usual = {
  id: "52:54:00:00:00:01",
  server,
  runtime: "docker",
  directory: "/home/me/.slipway/agent",
  pull: "always",
  isPrivileged: true,
  stopGrace: 10_000,
  killsOnExit: false,
  logLevel: "info",
};

test("nothing has to be said: the server is one of this user", async () => {
  const { server: _named, ...found } = usual;
  expect(await read({})).toEqual({ ok: true, value: found });
  expect(await read({ server })).toEqual({ ok: true, value: usual });
});

test("everything can be said by flags", async () => {
  const flags: Flags = {
    id: "node-7",
    server: "[2001:db8::1]:1",
    runtime: "host",
    "tls-ca": "ca.pem",
    "tls-insecure": true,
    cert: "/c.pem",
    key: "k.pem",
    "token-file": "token",
    "state-dir": "state",
    pull: "never",
    privileged: "false",
    "stop-grace": "1m30s",
    registry: "registry.example",
    "registry-user": "me",
    "registry-password-file": "password",
    "kill-on-exit": true,
    "log-level": "debug",
  };
  expect(await read(flags)).toEqual({
    ok: true,
    value: {
      id: "node-7",
      server: "[2001:db8::1]:1",
      runtime: "host",
      tls: { ca: "/here/ca.pem", identity: { certificate: "/c.pem", key: "/here/k.pem" }, isVerified: false },
      tokenFile: "/here/token",
      directory: "/here/state",
      pull: "never",
      isPrivileged: false,
      stopGrace: 90_000,
      registry: { server: "registry.example", username: "me", password: "in /here/password" },
      killsOnExit: true,
      logLevel: "debug",
    },
  });
});

test("each flag has a variable, and the flag wins", async () => {
  expect(Object.keys(agentOptions).map((option) => variableOf(option as AgentOption))).toContain(
    "SLIPWAY_AGENT_TLS_CA",
  );
  const variables = { SLIPWAY_AGENT_SERVER: server, SLIPWAY_AGENT_PULL: "missing", SLIPWAY_AGENT_KILL_ON_EXIT: "1" };
  expect(await read({}, variables)).toMatchObject({ value: { server, pull: "missing", killsOnExit: true } });
  expect(await read({ pull: "never" }, variables)).toMatchObject({ value: { pull: "never" } });
});

test.each<readonly [Readonly<Record<string, string>>, object]>([
  [{ AGENT_ID: "a", WORKER_ID: "b", ID: "c" }, { id: "a" }],
  [{ WORKER_ID: "b", ID: "c" }, { id: "b" }],
  [{ ID: "c", SLIPWAY_AGENT_ID: "own" }, { id: "own" }],
  [{ TINKERBELL_GRPC_AUTHORITY: "old:1" }, { server: "old:1" }],
  [{ AGENT_GRPC_SERVER: "new:1", TINKERBELL_GRPC_AUTHORITY: "old:1" }, { server: "new:1" }],
  [{ AGENT_GRPC_TLS: "true" }, { tls: { isVerified: true } }],
  [{ TINKERBELL_TLS: "T", TINKERBELL_INSECURE_TLS: "true" }, { tls: { isVerified: false } }],
  [
    { DOCKER_REGISTRY: "r", REGISTRY_USERNAME: "u", REGISTRY_PASSWORD: "p" },
    { registry: { server: "r", username: "u", password: "p" } },
  ],
])("variables of released agents are understood: %j", async (variables, expected) => {
  expect(await read({}, { TINKERBELL_GRPC_AUTHORITY: server, ...variables })).toMatchObject({
    ok: true,
    value: expected,
  });
});

test("TLS is off unless something asks for it; a registry without a login is no login", async () => {
  const result = await read(
    { server },
    { TINKERBELL_TLS: "false", TINKERBELL_INSECURE_TLS: "true", DOCKER_REGISTRY: "r" },
  );
  expect(result).toEqual({ ok: true, value: usual });
});

test.each<readonly [Flags, string]>([
  [{ server: "" }, 'expected HOST:PORT for --server, such as provision.example:42113, found ""'],
  [{ server: "host" }, 'expected HOST:PORT for --server, such as provision.example:42113, found "host"'],
  [{ server: "http://host:1" }, 'found "http://host:1"'],
  [{ server: "host:70000" }, 'found "host:70000"'],
  [{ server, id: "" }, "expected 1 to 256 bytes without control characters for --id"],
  [{ server, id: "a\nb" }, "expected 1 to 256 bytes without control characters for --id"],
  [{ server, id: "ä".repeat(129) }, "expected 1 to 256 bytes without control characters for --id"],
  [{ server, runtime: "kubernetes" }, 'expected docker or host for --runtime, found "kubernetes"'],
  [{ server, pull: "often" }, 'expected always or missing or never for --pull, found "often"'],
  [{ server, privileged: "maybe" }, 'expected true or false for --privileged, found "maybe"'],
  [{ server, "stop-grace": "10" }, "--stop-grace: expected a duration such as"],
  [{ server, "stop-grace": "-1s" }, "--stop-grace: expected no negative duration, found -1s"],
  [{ server, "log-level": "trace" }, 'for --log-level, found "trace"'],
  [{ server, cert: "c" }, "expected both of --cert and --key, or none"],
  [{ server, "registry-user": "me" }, "expected all of --registry, --registry-user and --registry-password-file"],
])("%j is refused", async (flags, message) => {
  const result = await read(flags);
  expect(result.ok ? "" : result.error.message).toContain(message);
});

test("a machine without a way out has to be named", async () => {
  const result = await readAgentOptions(
    { flag: () => undefined, variable: (name) => (name === "SLIPWAY_AGENT_SERVER" ? server : undefined) },
    { id: undefined, directory: "/d", resolve: (path) => path, readText: async () => "" },
  );
  expect(result).toMatchObject({ ok: false, error: { message: expect.stringContaining("has no id") } });
});
