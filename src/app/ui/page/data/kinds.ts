import { isJsonObject, type JsonObject, type JsonValue, objectAt, objectsAt, textAt, textsAt } from "#lib/base/index.ts";
import { requestJson, send } from "./api.ts";

/** A kind that the server serves, as discovery says. */
export interface ServedKind {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** The plural, in paths. */
  readonly resource: string;
  readonly isNamespaced: boolean;
  readonly verbs: readonly string[];
  readonly categories: readonly string[];
}

const discovery = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

let asked: Promise<readonly ServedKind[]> | undefined;

/** All kinds in their preferred versions; kept as long as the page, asked again after a failure or with `isFresh`. */
export function servedKinds(isFresh = false): Promise<readonly ServedKind[]> {
  if (asked !== undefined && !isFresh) return asked;
  const ask = Promise.all(
    ["/api/api", "/api/apis"].map((path) => requestJson<JsonObject>("GET", path, { accept: discovery })),
  ).then((answers) => answers.flatMap(kindsIn));
  asked = ask;
  ask.catch(() => {
    if (asked === ask) asked = undefined;
  });
  return ask;
}

const kindsIn = (list: JsonObject): readonly ServedKind[] =>
  objectsAt(list, "items").flatMap((group) => {
    const seen = new Set<string>();
    return objectsAt(group, "versions").flatMap((version) =>
      objectsAt(version, "resources").flatMap((resource) => {
        const kind = textAt(resource, "responseKind", "kind") ?? "";
        // The first version that has the kind is the preferred one.
        if (kind === "" || seen.has(kind)) return [];
        seen.add(kind);
        return {
          group: textAt(group, "metadata", "name") ?? "",
          version: textAt(version, "version") ?? "",
          kind,
          resource: textAt(resource, "resource") ?? "",
          isNamespaced: textAt(resource, "scope") === "Namespaced",
          verbs: textsAt(resource, "verbs"),
          categories: textsAt(resource, "categories"),
        };
      }),
    );
  });

export const apiVersionOf = ({ group, version }: ServedKind): string => (group === "" ? version : `${group}/${version}`);

/** Without a namespace: of all, or of the server. */
export function collectionPath(kind: ServedKind, namespace?: string): string {
  const { group, version, resource } = kind;
  const root = group === "" ? `/api/api/${version}` : `/api/apis/${group}/${version}`;
  const place = namespace === undefined || !kind.isNamespaced ? "" : `/namespaces/${encodeURIComponent(namespace)}`;
  return `${root}${place}/${resource}`;
}

/** An object of a kind; `namespace` is undefined where the kind has none. */
export interface ObjectName {
  readonly kind: ServedKind;
  readonly namespace: string | undefined;
  readonly name: string;
}

export const pathOfObject = (kind: ServedKind, namespace: string | undefined, name: string): string =>
  `${collectionPath(kind, namespace)}/${encodeURIComponent(name)}`;

/** In addresses of the page, the core group is `core`, and no namespace is `-`. */
export const resourcePath = (kind: ServedKind, namespace?: string, name?: string): string => {
  const list = `/resources/${kind.group === "" ? "core" : kind.group}/${kind.kind}`;
  return name === undefined ? list : `${list}/${encodeURIComponent(namespace ?? "-")}/${encodeURIComponent(name)}`;
};

export interface KindTable {
  readonly columns: readonly string[];
  readonly rows: readonly TableRow[];
  readonly resourceVersion: string;
  readonly continue: string | undefined;
}

export interface TableRow {
  readonly name: string;
  readonly namespace: string | undefined;
  readonly cells: readonly string[];
  /** As the server writes times, which sort as texts. */
  readonly createdAt: string;
}

const table = "application/json;as=Table;g=meta.k8s.io;v=v1,application/json";

export interface TableQuery {
  readonly namespace?: string;
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}

/** The server's own columns, but for those that `kubectl get` shows only with `-o wide`. */
export async function readTable(kind: ServedKind, { namespace, query = {}, signal }: TableQuery): Promise<KindTable> {
  const answer = await requestJson<JsonObject>("GET", collectionPath(kind, namespace), {
    accept: table,
    query: { limit: "500", ...query },
    signal,
  });
  const definitions = objectsAt(answer, "columnDefinitions");
  const shown = definitions.flatMap((column, index) => (column["priority"] === 0 || column["priority"] === undefined ? [index] : []));
  return {
    columns: shown.map((index) => textAt(definitions[index], "name") ?? ""),
    rows: objectsAt(answer, "rows").map((row) => {
      const cells = Array.isArray(row["cells"]) ? (row["cells"] as readonly JsonValue[]) : [];
      return {
        name: textAt(row, "object", "metadata", "name") ?? "",
        namespace: textAt(row, "object", "metadata", "namespace"),
        createdAt: textAt(row, "object", "metadata", "creationTimestamp") ?? "",
        cells: shown.map((index) => textOfCell(cells[index])),
      };
    }),
    resourceVersion: textAt(answer, "metadata", "resourceVersion") ?? "",
    continue: textAt(answer, "metadata", "continue") || undefined,
  };
}

const textOfCell = (cell: JsonValue | undefined): string =>
  cell === undefined || cell === null ? "" : typeof cell === "string" ? cell : JSON.stringify(cell);

const yaml = "application/yaml";

export async function readYaml(path: string, signal?: AbortSignal): Promise<string> {
  const response = await send("GET", path, { accept: yaml, ...(signal === undefined ? {} : { signal }) });
  return withoutManagedFields(await response.text());
}

/** Replaces an object by its YAML; the answer is what is stored, or would be. */
export async function writeYaml(path: string, text: string, isDryRun: boolean): Promise<string> {
  const query = { fieldValidation: "Strict", ...(isDryRun ? { dryRun: "All" } : {}) };
  const response = await send("PUT", path, { body: text, contentType: yaml, accept: yaml, query });
  return withoutManagedFields(await response.text());
}

/** Who wrote which field is for programs. The server keeps it if an update leaves it out. */
export function withoutManagedFields(text: string): string {
  const kept: string[] = [];
  let isInside = false;
  for (const line of text.split("\n")) {
    if (line === "  managedFields:") isInside = true;
    else if (isInside && /^ {0,2}[^ -]/.test(line)) isInside = false;
    if (!isInside) kept.push(line);
  }
  return kept.join("\n");
}

/** The schema of a kind from the server's OpenAPI document. */
export async function schemaOf(kind: ServedKind, signal: AbortSignal): Promise<JsonObject | undefined> {
  const place = kind.group === "" ? `api/${kind.version}` : `apis/${kind.group}/${kind.version}`;
  const document = await requestJson<JsonObject>("GET", `/api/openapi/v3/${place}`, { signal });
  return Object.values(objectAt(document, "components", "schemas") ?? {}).flatMap((schema) => {
    const names = objectsAt(schema, "x-kubernetes-group-version-kind");
    const isIt = names.some((one) => textAt(one, "kind") === kind.kind && (textAt(one, "group") ?? "") === kind.group);
    return isIt && isJsonObject(schema) ? [schema] : [];
  })[0];
}
