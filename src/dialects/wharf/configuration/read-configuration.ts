import { nearest } from "#lib/text/index.ts";
import { createReporter, type Reporter } from "../definition/diagnostics.ts";
import { isNull, kindOf, type Member, type Node } from "../definition/node.ts";
import { readDocuments } from "../definition/read-nodes.ts";
import { textOf } from "../definition/text.ts";
import { spotOf } from "../definition/values.ts";
import { type Configuration, type Key, keyByLowerCase, keyByVariable, keys } from "./keys.ts";
import type { Layer, Settings } from "./layer.ts";
import { withoutForeign } from "./directory-places.ts";
import { withOwnTokens, withTokensBeside } from "./token-places.ts";

export function mergeLayers(layers: readonly Layer[]): Settings {
  const own = withOwnTokens(layers.map(withoutForeign));
  return {
    configuration: Object.assign({}, ...own.map(({ configuration }) => configuration)) as Configuration,
    diagnostics: own.flatMap(({ diagnostics }) => diagnostics),
  };
}

/** Reads a file of settings; later documents win. */
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
  // A name may be both a setting and a section.
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

/** The settings in environment variables. Unknown ones with a setting's prefix are reported. */
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
