import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import type { RegistryLogin } from "../contract.ts";

const defaultRegistry = "docker.io";
/** Its other names in files of `docker login`. */
const defaultAliases = new Set(["docker.io", "index.docker.io", "registry-1.docker.io"]);

/** Host and path: `busybox:1` -> `docker.io/library/busybox`. A host has a dot or a port, or is `localhost`. */
export function imageAddress(image: string): { readonly host: string; readonly path: string } {
  const bare = image.replace(/@.*$/, "").replace(/:[^:/]*$/, "");
  const slash = bare.indexOf("/");
  const first = slash < 0 ? "" : bare.slice(0, slash);
  const hasHost = first === "localhost" || /[.:]/.test(first);
  if (!hasHost) return { host: defaultRegistry, path: slash < 0 ? `library/${bare}` : bare };
  return { host: defaultAliases.has(first) ? defaultRegistry : first, path: bare.slice(slash + 1) };
}

/**
 * The logins for an image in Secrets of the types kubernetes.io/dockerconfigjson and dockercfg, the most specific
 * first; unusable ones are skipped, as by the kubelet. Keys are hosts, possibly with scheme and path; a `*` stands for
 * a label of the host or a part of it.
 */
export function loginsFor(image: string, secrets: readonly ReadonlyMap<string, Buffer>[]): readonly RegistryLogin[] {
  const { host, path } = imageAddress(image);
  return secrets
    .flatMap(entriesOf)
    .filter(({ key }) => covers(key, host, path))
    .sort((a, b) => b.key.length - a.key.length)
    .map(({ login }) => login);
}

export const loginsIn = (contents: ReadonlyMap<string, Buffer>): readonly RegistryLogin[] =>
  entriesOf(contents).map(({ login }) => login);

interface Entry {
  /** Without scheme and trailing slashes. */
  readonly key: string;
  readonly login: RegistryLogin;
}

function entriesOf(contents: ReadonlyMap<string, Buffer>): readonly Entry[] {
  const whole = parsed(contents.get(".dockerconfigjson"));
  const auths = whole === undefined ? parsed(contents.get(".dockercfg")) : whole["auths"];
  if (!isJsonObject(auths)) return [];
  return Object.entries(auths).flatMap(([server, value]) => {
    const login = isJsonObject(value) ? loginOf(server, value) : undefined;
    return login === undefined ? [] : [{ key: server.replace(/^https?:\/\//, "").replace(/\/+$/, ""), login }];
  });
}

function parsed(bytes: Buffer | undefined): JsonObject | undefined {
  if (bytes === undefined) return undefined;
  try {
    const value = JSON.parse(bytes.toString("utf8")) as JsonValue;
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** `auth` is base64 of `user:password`, and counts if these are not given. */
function loginOf(server: string, value: JsonObject): RegistryLogin | undefined {
  const text = (name: string) => (typeof value[name] === "string" && value[name] !== "" ? value[name] : undefined);
  const identityToken = text("identitytoken");
  if (identityToken !== undefined) return { server, identityToken };
  const pair = Buffer.from(text("auth") ?? "", "base64").toString("utf8");
  const colon = pair.indexOf(":");
  const username = text("username") ?? (colon < 0 ? undefined : pair.slice(0, colon));
  const password = text("password") ?? (colon < 0 ? undefined : pair.slice(colon + 1));
  return username === undefined || password === undefined ? undefined : { server, username, password };
}

function covers(key: string, host: string, path: string): boolean {
  const slash = key.indexOf("/");
  const keyHost = slash < 0 ? key : key.slice(0, slash);
  // `docker login` writes https://index.docker.io/v1/ for the default registry.
  const keyPath = slash < 0 ? "" : key.slice(slash + 1).replace(/^v[12]\/?/, "");
  const known = defaultAliases.has(keyHost) ? defaultRegistry : keyHost;
  return matchesHost(known, host) && (keyPath === "" || path === keyPath || path.startsWith(`${keyPath}/`));
}

function matchesHost(pattern: string, host: string): boolean {
  const [patterns, labels] = [pattern.split("."), host.split(".")];
  return patterns.length === labels.length && patterns.every((one, index) => matchesLabel(one, labels[index] ?? ""));
}

/** Both ends must fit, and the parts between stars must follow in order. */
function matchesLabel(pattern: string, label: string): boolean {
  const parts = pattern.split("*");
  const [first = "", last = ""] = [parts[0], parts.at(-1)];
  if (parts.length === 1) return pattern === label;
  if (label.length < first.length + last.length || !label.startsWith(first) || !label.endsWith(last)) return false;
  let at = first.length;
  for (const part of parts.slice(1, -1)) {
    const found = label.indexOf(part, at);
    if (found < 0 || found + part.length > label.length - last.length) return false;
    at = found + part.length;
  }
  return true;
}
