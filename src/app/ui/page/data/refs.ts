import type { ObjectRef } from "#engine/index.ts";
import type { RunSummary } from "#app/ui/wire.ts";

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
