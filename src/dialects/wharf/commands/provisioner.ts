import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { type ClusterFlags, exitCode, type Invocation, UsageError } from "#kernel/command/index.ts";
import { inFull, readWharfOptions, type ServiceFlags } from "../options.ts";
import { ProvisionerClient, type ToldWorker } from "../provisioner/provisioner-client.ts";
import { opensService, tokenFileOf } from "./serving.ts";
import { workerProgram } from "./worker-program.ts";
import { readWharfSettings, settingsCode } from "./settings.ts";
import { findServer, formatTable, readToken } from "#kernel/command/index.node.ts";
import { formatAge, messageOf, parseInstant } from "#lib/base/index.ts";

// These commands use the provisioner's REST API, so they work with released provisioners too.

const usualUrl = "http://127.0.0.1:5009";

export interface ProvisionerFlags {
  readonly url?: string;
  readonly authTokenFile?: string;
  readonly force?: boolean;
  readonly backend?: string;
  readonly output?: string;
}

type Asked = Invocation<ProvisionerFlags>;

export async function listWorkers(invocation: Asked): Promise<number> {
  const client = await clientOf(invocation);
  return await print(await client.list(invocation.signal), invocation);
}

export async function createWorker(invocation: Asked): Promise<number> {
  const parameters = await readParameters(invocation.rest, invocation);
  const client = await clientOf(invocation);
  const { worker } = await client.create(parameters, invocation.signal);
  return await print([worker], invocation);
}

/** Deletes one after the other and stops at the first failure, so that the output lists what was deleted. */
export async function deleteWorkers(invocation: Asked): Promise<number> {
  const { rest, options, environment, signal } = invocation;
  const client = await clientOf(invocation);
  for (const name of rest) {
    await client.delete(name, options.force === true, signal);
    environment.out.write(`${name}\n`);
  }
  return exitCode.succeeded;
}

async function clientOf({ options, environment, clock, signal }: Asked) {
  const sought = { serves: "provisioner", flag: "--url", usual: usualUrl, opens: opensService("provisioner") };
  const tokenFile = tokenFileOf(options, environment);
  const found = await findServer({ ...sought, url: options.url, tokenFile }, environment, { clock, signal });
  return new ProvisionerClient({ url: found.url, token: await readToken(found.tokenFile) });
}

export async function serveProvisioner(
  invocation: Invocation<ProvisionerFlags & ClusterFlags & ServiceFlags>,
): Promise<number> {
  const { options, environment } = invocation;
  const program = workerProgram(environment);
  const { backend } = options;
  const full = inFull(options, "wharfProvisionerListen");
  const said = backend === undefined ? full : { wharfBackend: backend, ...full };
  const sources = {
    options: said,
    variable: environment.variable,
    resolve: (file: string) => resolve(environment.directory, file),
  };
  const settings = await readWharfSettings(environment, options.loglevel);
  if (settings === undefined) return settingsCode;
  const given = readWharfOptions(sources, settings, { program, runtime: "host" });
  if (!given.ok) throw new UsageError(given.error.join("\n"));
  const { provisioner: own, tokenFile, allowsAnonymous, namespace, instance } = given.value;
  if (own === undefined) throw new UsageError("a provisioner without an address: --wharf-provisioner-listen is off");
  const wharf = {
    part: "provisioner",
    // This part was asked for: an address in use is an error, even the default one.
    provisioner: { ...own, listen: { ...own.listen, isUsual: false } },
    ...(tokenFile === undefined ? {} : { tokenFile }),
    ...(allowsAnonymous === undefined ? {} : { allowsAnonymous }),
    ...(namespace === undefined ? {} : { namespace }),
    ...(instance === undefined ? {} : { instance }),
  } as const;
  return await invocation.host.serveCluster(invocation, {
    language: "wharf",
    leaseName: "slipway-wharf-provisioner",
    looksAt: ["workers"],
    dialectOptions: { wharf },
    besideOwn: { wharf },
    besideOwnIf: {
      condition: "NoProvisioner",
      hint: "start it with --wharf-provisioner-listen off, so that it starts no workers itself",
    },
  });
}

async function print(
  workers: readonly ToldWorker[],
  { options, environment, clock }: Invocation<ProvisionerFlags>,
): Promise<number> {
  if (options.output === "json") {
    environment.out.write(`${JSON.stringify(workers, null, 2)}\n`);
    return exitCode.succeeded;
  }
  const now = clock.now();
  const rows = workers.map(({ workerId, buildId, status, runtime, address, createdAt, message }) => [
    workerId,
    buildId === 0 ? "" : `${buildId}`,
    status,
    runtime,
    address,
    formatAge(now - (parseInstant(createdAt) ?? now)),
    message,
  ]);
  environment.out.write(formatTable(["WORKER", "BUILD", "STATUS", "RUNTIME", "ADDRESS", "AGE", "MESSAGE"], rows));
  return exitCode.succeeded;
}

async function readText(file: string, directory: string): Promise<string> {
  try {
    return await readFile(resolve(directory, file), "utf8");
  } catch (thrown) {
    throw new UsageError(`cannot read ${file}: ${messageOf(thrown)}`);
  }
}

/** Reads NAME=VALUE and NAME=@FILE. The provisioner validates names and values. */
async function readParameters(
  words: readonly string[],
  { environment }: Invocation<ProvisionerFlags>,
): Promise<Readonly<Record<string, string>>> {
  const entries = words.map(async (word) => {
    const at = word.indexOf("=");
    if (at < 1) throw new UsageError(`expected NAME=VALUE or NAME=@FILE, found ${JSON.stringify(word)}`);
    const value = word.slice(at + 1);
    const text = value.startsWith("@")
      ? (await readText(value.slice(1), environment.directory)).replace(/\r?\n$/, "")
      : value;
    return [word.slice(0, at), text] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}
