import type { ObjectRef } from "#engine/index.ts";
import type { RunSummary, SourceSummary } from "#app/ui/wire.ts";

/** What names a run in the page's address. Objects without a namespace have `-` there. */
export interface RunKey {
  readonly dialect: string;
  readonly namespace: string;
  readonly name: string;
}

const part = (text: string): string => encodeURIComponent(text === "" ? "-" : text);

export const keyOf = (run: Pick<RunSummary, "dialect" | "ref">): RunKey => ({
  dialect: run.dialect,
  namespace: run.ref.namespace ?? "",
  name: run.ref.name,
});

export const textOfKey = ({ dialect, namespace, name }: RunKey): string => `${dialect}/${namespace}/${name}`;

/** The path below /slipway, of pages and of requests. */
export const runPath = ({ dialect, namespace, name }: RunKey): string =>
  `/runs/${part(dialect)}/${part(namespace)}/${part(name)}`;

export const logPath = ({ dialect, namespace, name }: RunKey): string =>
  `/logs/${part(dialect)}/${part(namespace)}/${part(name)}`;

export const keyOfPath = (dialect: string, namespace: string, name: string): RunKey => ({
  dialect,
  namespace: namespace === "-" ? "" : namespace,
  name,
});

/** As people write it: `Workflow default/build`. */
export const textOfRef = ({ kind, namespace, name }: ObjectRef): string =>
  `${kind} ${namespace === undefined ? "" : `${namespace}/`}${name}`;

/** What runs are made from: its page has the grid of their steps. */
export const sourcePath = (source: Pick<SourceSummary, "dialect" | "namespace" | "kind" | "name">): string =>
  `/sources/${part(source.dialect)}/${part(source.namespace)}/${part(source.kind)}/${part(source.name)}`;

/** Where a run is started anew, with its document to change before. */
export const againPath = ({ dialect, namespace, name }: RunKey): string =>
  `/new?again=${[dialect, namespace, name].map(part).join("/")}`;

/** Two runs of one source side by side. */
export const comparePath = ({ dialect, namespace, name }: RunKey, other: string): string =>
  `/compare/${part(dialect)}/${part(namespace)}/${part(name)}/${part(other)}`;

const groupOf = (apiVersion: string): string => (apiVersion.includes("/") ? apiVersion.slice(0, apiVersion.indexOf("/")) : "");

/** As `slipway` and kubectl take it, whatever other kinds are called the same: `workflow.slipway.dev`. */
export function qualifiedKind({ apiVersion, kind }: Pick<ObjectRef, "apiVersion" | "kind">): string {
  const group = groupOf(apiVersion);
  return group === "" ? kind.toLowerCase() : `${kind.toLowerCase()}.${group}`;
}

/** One word of a command, for a shell: names come from addresses that anybody can make, and are pasted. */
export const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** The namespace as an option, with a space before it; nothing for none. */
export const inNamespace = (namespace: string | undefined): string =>
  namespace === undefined || namespace === "" ? "" : ` -n ${shellWord(namespace)}`;

/** `workflow.slipway.dev/build -n prod`. */
export const argumentsOf = (ref: ObjectRef): string =>
  shellWord(`${qualifiedKind(ref)}/${ref.name}`) + inNamespace(ref.namespace);

/** The page of any object. */
export const objectPagePath = ({ apiVersion, kind, namespace, name }: ObjectRef): string =>
  `/resources/${part(groupOf(apiVersion) || "core")}/${part(kind)}/${part(namespace ?? "")}/${part(name)}`;
