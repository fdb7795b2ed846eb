import type { ToldWorker } from "../dialect.ts";
import { type ClusterFlags, exitCode, type Invocation, type OptionSpec, UsageError } from "#kernel/command/index.ts";
import type { ServiceFlags } from "../options.ts";

// A provisioner is asked over REST, the one of `slipway up` as well as any other: these commands work against a released one, too, and need no
// control plane of their own.

/** Where a provisioner answers when nobody says it. */
const usualUrl = "http://127.0.0.1:5009";

/** What clients of a provisioner are told. */
export interface ProvisionerFlags {
  /** Its base: `http://127.0.0.1:5009`. */
  readonly url?: string;
  /** A file, and not the token: command lines are seen by everybody on the machine. */
  readonly authTokenFile?: string;
  /** Of `delete`: no build is cancelled politely, and nobody reads the results any more. */
  readonly force?: boolean;
  /** Of `serve`: `--wharf-backend`, in short. */
  readonly backend?: string;
  /** Of `list` and `create`. */
  readonly output?: string;
}

/** Which provisioner is asked. */
export const provisionerAddressOptions: readonly OptionSpec[] = [
  { flags: "--url <url>", summary: `which provisioner is asked (default: that of this user)` },
];

type Asked = Invocation<ProvisionerFlags>;

/** `provisioner list`. Ends with 1 when the provisioner refuses, or is not there, as all of these do. */
export async function listWorkers(invocation: Asked): Promise<number> {
  const client = await clientOf(invocation);
  return await print(await client.list(invocation.signal), invocation);
}

/**
 * `provisioner create NAME=VALUE…`: prints the worker, also one that there was for the build already. Ends with 2 where no provisioner of this user
 * runs and none is named: among the parameters may be what is nobody else's to see.
 */
export async function createWorker(invocation: Asked): Promise<number> {
  const parameters = await readParameters(invocation.rest, invocation);
  const client = await clientOf(invocation);
  const { worker } = await client.create(parameters, invocation.signal);
  return await print([worker], invocation);
}

/**
 * `provisioner delete WORKER…`: one after the other, and no further than to the first that is refused, so that what was printed is what was asked
 * for.
 */
export async function deleteWorkers(invocation: Asked): Promise<number> {
  const { rest, options, environment, signal } = invocation;
  const client = await clientOf(invocation);
  for (const name of rest) {
    await client.delete(name, options.force === true, signal);
    environment.out.write(`${name}\n`);
  }
  return exitCode.succeeded;
}

/** Of the provisioner that was named, or of this user's. */
async function clientOf({ options, environment, clock, signal }: Asked) {
  const { loadProvisionerClient } = await import("../dialect.ts");
  const { ProvisionerClient } = await loadProvisionerClient();
  const { opensService, tokenFileOf } = await import("./serving.ts");
  const { findServer, readToken } = await import("#kernel/command/index.node.ts");
  const sought = { serves: "provisioner", flag: "--url", usual: usualUrl, opens: opensService("provisioner") };
  const tokenFile = tokenFileOf(options, environment);
  const found = await findServer({ ...sought, url: options.url, tokenFile }, environment, { clock, signal });
  return new ProvisionerClient({ url: found.url, token: await readToken(found.tokenFile) });
}

/**
 * Is the provisioner of a cluster, with workers on this machine, until a signal: one of several processes, whoever holds its lease. Options are
 * those of `slipway up`.
 */
export async function serveProvisioner(
  invocation: Invocation<ProvisionerFlags & ClusterFlags & ServiceFlags>,
): Promise<number> {
  const { options, environment } = invocation;
  const path = await import("node:path");
  const { workerProgram } = await import("./worker-program.ts");
  const { inFull, readWharfOptions } = await import("../options.ts");
  const { readWharfSettings, settingsCode } = await import("./settings.ts");
  const program = workerProgram(environment);
  const resolve = (file: string) => path.resolve(environment.directory, file);
  const { backend } = options;
  const full = inFull(options, "wharfProvisionerListen");
  const said = backend === undefined ? full : { wharfBackend: backend, ...full };
  const sources = { options: said, variable: environment.variable, resolve };
  const settings = await readWharfSettings(environment, options.loglevel);
  if (settings === undefined) return settingsCode;
  const given = readWharfOptions(sources, settings, { program, runtime: "host" });
  if (!given.ok) throw new UsageError(given.error.join("\n"));
  const { provisioner: own, tokenFile, allowsAnonymous, namespace, instance } = given.value;
  if (own === undefined) throw new UsageError("a provisioner without an address: --wharf-provisioner-listen is off");
  const wharf = {
    part: "provisioner",
    // Somebody wants it and no other part: an address that is taken is a failure, also the usual one.
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

/** A table, or with `--output json` the list as it came: what programs read is there when it is empty, too. */
async function print(
  workers: readonly ToldWorker[],
  { options, environment, clock }: Invocation<ProvisionerFlags>,
): Promise<number> {
  if (options.output === "json") {
    environment.out.write(`${JSON.stringify(workers, null, 2)}\n`);
    return exitCode.succeeded;
  }
  const { formatTable } = await import("#kernel/command/index.node.ts");
  const { formatAge, parseInstant } = await import("#lib/base/index.ts");
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

/** The text of a file that somebody has named; relative to where that was typed. */
async function readText(file: string, directory: string): Promise<string> {
  const { readFile } = await import("node:fs/promises");
  const path = await import("node:path");
  const { messageOf } = await import("#lib/base/index.ts");
  try {
    return await readFile(path.resolve(directory, file), "utf8");
  } catch (thrown) {
    throw new UsageError(`cannot read ${file}: ${messageOf(thrown)}`);
  }
}

/**
 * `NAME=VALUE`, and `NAME=@FILE` for what is not to stand on a command line, which everybody on the machine can read. What the names mean, and
 * whether the values can be used, is the provisioner's to say; it says everything at once.
 */
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
