import { dirname, resolve } from "node:path";
import { createReporter, type Reporter } from "../definition/diagnostics.ts";
import { type Configuration, type Key, keyByLowerCase, keyByVariable, keys } from "./keys.ts";
import type { Layer, Settings } from "./layer.ts";
import { nearest } from "#lib/text/index.ts";
import { isNull, kindOf, type Member, type Node } from "../definition/node.ts";
import { readDocuments } from "../definition/read-nodes.ts";
import { textOf } from "../definition/text.ts";
import { spotOf } from "../definition/values.ts";

export function mergeLayers(layers: readonly Layer[]): Settings {
  const own = withOwnTokens(layers.map(withoutForeign));
  return {
    configuration: Object.assign({}, ...own.map(({ configuration }) => configuration)) as Configuration,
    diagnostics: own.flatMap(({ diagnostics }) => diagnostics),
  };
}

export function readFileLayer(bytes: Uint8Array, file: string): Layer {
  const reporter = createReporter(file);
  const found = new Map<Key, unknown>();
  const source = textOf(bytes, reporter);
  const documents = source === undefined ? [] : readDocuments(source, reporter);
  for (const document of documents) readSection(document, [], found, reporter);
  return {
    file,
    configuration: withTokensBeside(Object.fromEntries(found), file),
    diagnostics: reporter.diagnostics(),
  };
}

function readSection(node: Node, path: readonly string[], found: Map<Key, unknown>, reporter: Reporter): void {
  if (isNull(node)) return;
  if (node.kind === "map") for (const member of node.members) readMember(member, path, found, reporter);
  else reporter.error(spotOf(path.join("."), node), "type", `expected map, found ${kindOf(node)}`);
}

function readMember(member: Member, path: readonly string[], found: Map<Key, unknown>, reporter: Reporter): void {
  const own = [...path, member.name];
  const scope = own.join(".");
  const key = keyByLowerCase.get(scope.toLowerCase());
  const isSection = member.value.kind === "map" && namesBelow(own).length > 0;
  if (key !== undefined && !isSection) {
    const value = isNull(member.value) ? undefined : keys[key].read(member.value, scope, reporter);
    if (value !== undefined) found.set(key, value);
    return;
  }
  const siblings = namesBelow(path);
  if (siblings.some((name) => name.toLowerCase() === member.name.toLowerCase()))
    return readSection(member.value, own, found, reporter);
  const meant = nearest(
    member.name.toLowerCase(),
    siblings.map((name) => name.toLowerCase()),
  );
  const name = siblings.find((one) => one.toLowerCase() === meant);
  const hint = name === undefined ? `known here: ${siblings.join(", ")}` : `did you mean "${name}"?`;
  reporter.warn({ scope, at: member.at }, "field-unknown", "there is no such setting; it is ignored", { hint });
}

function namesBelow(path: readonly string[]): readonly string[] {
  const prefix = path.map((part) => `${part.toLowerCase()}.`).join("");
  const within = Object.keys(keys).filter((key) => key.toLowerCase().startsWith(prefix));
  return [...new Set(within.map((key) => key.slice(prefix.length).split(".")[0] ?? ""))];
}

/** Prefixes of settings. Other WHARF_ variables describe the build to steps. */
const sections = /^WHARF_(?:API|K8S|LOGS|WORKER|PROVISIONER|AGGREGATOR|WATCHDOG|TRIGGER)_/;

export function readVariableLayer(variables: Readonly<Record<string, string | undefined>>): Layer {
  const file = "environment";
  const reporter = withoutPlaces(createReporter(file));
  const found = new Map<Key, unknown>();
  for (const name of Object.keys(variables).sort()) {
    const written = variables[name];
    if (written === undefined || written === "") continue;
    const key = keyByVariable.get(name);
    const node = key === undefined ? undefined : fromVariable(key, written);
    if (key !== undefined && node !== undefined) {
      const value = keys[key].read(node, name, reporter);
      if (value !== undefined) found.set(key, value);
    } else if (key !== undefined || sections.test(name)) {
      const meant = key === undefined ? nearest(name, keyByVariable.keys()) : undefined;
      const message =
        key === undefined ? "there is no such setting; it is ignored" : "a file alone can set this; it is ignored";
      reporter.warn({ scope: name }, "field-unknown", message, {
        hint: meant === undefined ? undefined : `did you mean ${meant}?`,
      });
    }
  }
  return { file, configuration: Object.fromEntries(found), diagnostics: reporter.diagnostics() };
}

const fromVariable = (key: Key, written: string): Node | undefined => {
  const kind = keys[key];
  return "fromVariable" in kind ? kind.fromVariable?.(written, { line: 1, column: 1 }) : undefined;
};

const withoutPlaces = ({ error, warn, diagnostics }: Reporter): Reporter => ({
  error: ({ scope }, ...rest) => error({ scope }, ...rest),
  warn: ({ scope }, ...rest) => warn({ scope }, ...rest),
  diagnostics,
});

/** Settings that let others in. */
const entries: readonly Key[] = [
  "api.http.bindAddress",
  "api.http.cors.allowAllOrigins",
  "api.http.cors.allowOrigins",
  "provisioner.http.bindAddress",
  "provisioner.http.cors.allowAllOrigins",
  "provisioner.http.cors.allowOrigins",
];

const letsIn = (value: Configuration[Key]): boolean =>
  value !== undefined && value !== false && value !== "off" && !(Array.isArray(value) && value.length === 0);

function foreignOf({ file, configuration }: Layer, reporter: Reporter): ReadonlySet<string> {
  const foreign = new Set<Key>();
  const warn = (key: Key, code: string, message: string, option = ""): void => {
    foreign.add(key);
    const hint = `${option}set it in the file of the user, or name that file in WHARF_CONFIG`;
    reporter.warn({ scope: key }, code, message, { hint });
  };
  const theirs = "may belong to another user and cannot set";
  if (configuration["worker.runtime"] === "host")
    warn(
      "worker.runtime",
      "host-place",
      `${file} ${theirs} that steps run unconfined on this machine`,
      "say --runtime host, ",
    );
  for (const key of entries)
    if (letsIn(configuration[key])) warn(key, "entry-place", `${file} ${theirs} who reaches a server of this machine`);
  if (configuration["provisioner.allowLocalRepos"] === true)
    warn(
      "provisioner.allowLocalRepos",
      "entry-place",
      `${file} ${theirs} that repositories of this machine can be cloned`,
    );
  return foreign;
}

/** The layer without settings that a directory, possibly a stranger's repository, must not choose: running commands
 * unconfined on the host and opening servers to others. Only options, the user's file or WHARF_CONFIG may do that. */
function withoutForeign(layer: Layer): Layer {
  if (layer.isOfDirectory !== true) return layer;
  const reporter = createReporter(layer.file);
  const foreign = foreignOf(layer, reporter);
  if (foreign.size === 0) return layer;
  const kept = Object.entries(layer.configuration).filter(([key]) => !foreign.has(key));
  return {
    ...layer,
    configuration: Object.fromEntries(kept) as Configuration,
    diagnostics: [...layer.diagnostics, ...reporter.diagnostics()],
  };
}

// Settings come from places that do not trust each other. A token is only sent to the address it was set with, and
// the file of a directory cannot name token files.

const services = [
  ["aggregator.wharfApiUrl", "aggregator.wharfApiTokenFile"],
  ["aggregator.provisionerUrl", "aggregator.provisionerTokenFile"],
  ["watchdog.wharfApiUrl", "watchdog.wharfApiTokenFile"],
  ["watchdog.provisionerUrl", "watchdog.provisionerTokenFile"],
] as const satisfies readonly (readonly [Key, Key])[];

/** Paths of token files are relative to the settings file. */
const withTokensBeside = (configuration: Configuration, file: string): Configuration => ({
  ...configuration,
  ...Object.fromEntries(
    services.flatMap(([, tokenFile]) => {
      const named = configuration[tokenFile];
      return named === undefined ? [] : [[tokenFile, resolve(dirname(file), named)]];
    }),
  ),
});

/** Removes tokens that must not be sent to the winning address. A token without any address is kept: it is for this
 * user's own server. */
function withOwnTokens(layers: readonly Layer[]): readonly Layer[] {
  const dropped = new Map<Layer, Key[]>();
  const findings = layers.map((layer) => createReporter(layer.file));
  const drop = (layer: Layer, key: Key): void => void dropped.set(layer, [...(dropped.get(layer) ?? []), key]);
  for (const [url, tokenFile] of services) {
    const addressAt = layers.findLastIndex(({ configuration }) => configuration[url] !== undefined);
    for (const [at, layer] of layers.entries()) {
      if (layer.configuration[tokenFile] === undefined) continue;
      if (layer.isOfDirectory === true) {
        const message = `${layer.file} may belong to another user and cannot name a token file`;
        const hint = `set it beside ${url} in the file of the user, or name that file in WHARF_CONFIG`;
        findings[at]?.error({ scope: tokenFile }, "token-place", message, { hint });
        drop(layer, tokenFile);
      } else if (addressAt > at) {
        const message = `the token of ${layer.file} is not brought to the address of ${layers[addressAt]?.file}`;
        findings[at]?.warn({ scope: tokenFile }, "token-place", message);
        drop(layer, tokenFile);
      } else if (addressAt !== -1 && addressAt < at) {
        const message = `the token of ${layer.file} would go to the address of ${layers[addressAt]?.file}`;
        findings[at]?.error({ scope: tokenFile }, "token-place", message, { hint: `set ${url} beside it` });
        drop(layer, tokenFile);
      }
    }
  }
  return layers.map((layer, at) => ({
    ...layer,
    configuration: without(layer.configuration, dropped.get(layer) ?? []),
    diagnostics: [...layer.diagnostics, ...(findings[at]?.diagnostics() ?? [])],
  }));
}

const without = (configuration: Configuration, keys: readonly Key[]): Configuration =>
  Object.fromEntries(Object.entries(configuration).filter(([key]) => !keys.some((one) => one === key)));
