import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { environmentIn, keptOutput } from "#kernel/command/testing/index.ts";
import { aggregatorOf, watchdogOf } from "./service-clients.ts";
import { readWharfOptions } from "../options.ts";
import { readWharfSettings } from "./settings.ts";

let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "slipway-settings-"));
});
afterAll(() => rm(home, { recursive: true }));

const workers = { program: { words: ["slipway"], environment: {} }, runtime: "host" } as const;

/** What `slipway up` makes of a file, of variables and of flags, all of them of a user of their own. */
async function told(
  file: string,
  variables: Readonly<Record<string, string>> = {},
  options: Readonly<Record<string, string>> = {},
) {
  const path = join(home, ".config/iver-wharf/wharf-cmd/wharf-cmd-config.yml");
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, file);
  const err = keptOutput();
  const environment = environmentIn(home, { variables }, keptOutput(), err);
  const settings = await readWharfSettings(environment);
  if (settings === undefined) return { said: err.text() };
  const sources = { options, variable: environment.variable, resolve: (name: string) => join("/here", name) };
  return { settings, said: err.text(), read: readWharfOptions(sources, settings, workers) };
}

/** One setting of a file, the same of a variable, and what becomes of each. */
const each = [
  ["instanceId", "a", "b", (text: string) => ({ instance: text })],
  [
    "api.http.bindAddress",
    "127.0.0.1:1",
    "127.0.0.1:2",
    (address: string) => ({ listen: { address, isUsual: false } }),
  ],
  ["api.http.cors.allowAllOrigins", "false", "true", (text: string) => (text === "true" ? { origins: ["*"] } : {})],
  ["api.http.cors.allowOrigins", "[a]", "b", (text: string) => ({ origins: [text.replaceAll(/[[\]]/g, "")] })],
  ["trigger.deadline", "3s", "4s", (text: string) => ({ triggerDeadlineMs: Number.parseInt(text) * 1000 })],
  [
    "provisioner.http.bindAddress",
    "127.0.0.1:3",
    "0.0.0.0:4",
    (address: string) => ({ provisioner: { listen: { address, isUsual: false } } }),
  ],
  [
    "provisioner.http.cors.allowOrigins",
    "[https://a]",
    "https://b",
    (text: string) => ({ provisioner: { origins: [text.replaceAll(/[[\]]/g, "")] } }),
  ],
  [
    "provisioner.http.cors.allowAllOrigins",
    "false",
    "true",
    (text: string) => ({ provisioner: text === "true" ? { origins: ["*"] } : {} }),
  ],
  ["provisioner.maxWorkers", "5", "6", (text: string) => ({ provisioner: { maxWorkers: Number(text) } })],
  ["provisioner.drain", "7s", "0s", (text: string) => ({ provisioner: { drainMs: Number.parseInt(text) * 1000 } })],
  [
    "provisioner.allowLocalRepos",
    "false",
    "true",
    (text: string) => ({ provisioner: { allowLocalRepos: text === "true" } }),
  ],
  ["aggregator.wharfApiUrl", "http://a", "http://b", (url: string) => ({ aggregator: { api: { url } } })],
  ["aggregator.provisionerUrl", "http://a", "http://b", (url: string) => ({ aggregator: { provisioner: { url } } })],
  ["aggregator.workerApiExternalPort", "8", "9", (text: string) => ({ aggregator: { workerPort: Number(text) } })],
  ["aggregator.maxWorkers", "10", "11", (text: string) => ({ aggregator: { maxWorkers: Number(text) } })],
  ["watchdog.wharfApiUrl", "http://a", "http://b", (url: string) => ({ watchdog: { api: { url } } })],
  ["watchdog.provisionerUrl", "http://a", "http://b", (url: string) => ({ watchdog: { provisioner: { url } } })],
  ["watchdog.interval", "12s", "13s", (text: string) => ({ watchdog: { intervalMs: Number.parseInt(text) * 1000 } })],
  ["watchdog.minAge", "14s", "15s", (text: string) => ({ watchdog: { minAgeMs: Number.parseInt(text) * 1000 } })],
] as const;

const variableOf = (key: string): string => `WHARF_${key.replaceAll(".", "_").toUpperCase()}`;

test.each(each)("%s is read of a file, and of a variable before it", async (key, ofFile, ofVariable, becomes) => {
  const file = key.split(".").reduceRight((value, name) => `{${name}: ${value}}`, ofFile);
  expect((await told(file)).read).toMatchObject({ ok: true, value: becomes(ofFile) });
  const both = await told(file, { [variableOf(key)]: ofVariable });
  expect(both).toMatchObject({ said: "", read: { ok: true, value: becomes(ofVariable) } });
});

test.each([
  ["instanceId", "a", "wharfInstance", "b", { instance: "b" }],
  ["api.http.bindAddress", "127.0.0.1:1", "wharfListen", "127.0.0.1:2", { listen: { address: "127.0.0.1:2" } }],
  [
    "provisioner.http.bindAddress",
    "127.0.0.1:3",
    "wharfProvisionerListen",
    "127.0.0.1:4",
    { provisioner: { listen: { address: "127.0.0.1:4" } } },
  ],
  ["provisioner.maxWorkers", "5", "wharfMaxWorkers", "6", { provisioner: { maxWorkers: 6 } }],
  ["provisioner.drain", "7s", "wharfDrain", "8s", { provisioner: { drainMs: 8000 } }],
])("%s gives way to the option of the command line", async (key, set, option, given, expected) => {
  const variable = `SLIPWAY_${option.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
  const variables = { [variableOf(key)]: set };
  expect((await told("", variables, { [option]: given })).read).toMatchObject({ ok: true, value: expected });
  expect((await told("", { ...variables, [variable]: given })).read).toMatchObject({ ok: true, value: expected });
});

test("what is wrong with settings is told by their names, and unknown ones are left", async () => {
  const { said, read } = await told(
    "provisonr: {}\ninstanceId: A b\nwatchdog: {interval: 0s, wharfApiUrl: ftp://x}\n",
    {
      WHARF_API_HTTP_BINDADDRESS: "5001",
      WHARF_AGGREGATOR_MAXWORKERS: "0",
      WHARF_AGGREGATOR_WORKERAPIEXTERNALPORT: "70000",
    },
  );
  expect(said).toMatch(/wharf-cmd-config\.yml:1:1: warning: provisonr: .*did you mean "provisioner"/);
  expect(read).toEqual({
    ok: false,
    error: [
      'api.http.bindAddress: expected HOST:PORT or off, found "5001"',
      'instanceId: expected lower-case letters, digits and dashes, found "A b"',
      "aggregator.maxWorkers: expected at least 1",
      "aggregator.workerApiExternalPort: expected a port from 1 to 65535, found 70000",
      "watchdog.interval: expected a duration above 0",
      "watchdog.wharfApiUrl: expected a URL of http or https, found ftp://x",
    ],
  });
  const broken = await told("provisioner: {drain: soon}\n");
  expect(broken.settings).toBeUndefined();
  expect(broken.said).toContain("error: provisioner.drain: expected a duration such as 1h30m");
});

test("a token is for the address that it was set with: one that a command line names gets its own", () => {
  const settings = {
    "aggregator.wharfApiUrl": "http://set.example",
    "aggregator.wharfApiTokenFile": "set",
    "watchdog.provisionerTokenFile": "of-usual",
  };
  const reading = { problems: [], resolve: (file: string) => `/here/${file}` };
  const found = {
    api: { url: "http://127.0.0.1:5001" },
    provisioner: { url: "http://127.0.0.1:5009", tokenFile: "/run/noted" },
  };
  expect(aggregatorOf(settings, { found }, reading)).toEqual({
    api: { url: "http://set.example", tokenFile: "/here/set" },
    provisioner: { url: found.provisioner.url, tokenFile: "/here//run/noted" },
  });
  const said = { api: { url: "http://said.example" }, provisioner: { tokenFile: "own" }, found };
  expect(aggregatorOf(settings, said, reading)).toEqual({
    api: { url: "http://said.example" },
    provisioner: { url: found.provisioner.url, tokenFile: "/here/own" },
  });
  expect(watchdogOf(settings, { found }, reading)).toEqual({
    api: { url: found.api.url },
    provisioner: { url: found.provisioner.url, tokenFile: "/here/of-usual" },
  });
});

test("a token of the command line is not brought to an address that settings name", () => {
  const reading = { problems: [] as string[], resolve: (file: string) => file };
  const settings = { "aggregator.wharfApiUrl": "http://set.example" };
  expect(aggregatorOf(settings, { api: { tokenFile: "own" } }, reading)).toEqual({});
  expect(reading.problems).toEqual([
    "a token of the command line is for an address that it names: --api (aggregator.wharfApiUrl is http://set.example)",
  ]);
});
