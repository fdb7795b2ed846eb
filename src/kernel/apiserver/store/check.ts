import { codeOf, isJsonObject, type JsonObject, jsonEquals, messageOf } from "#lib/base/index.ts";
import { decodeKey, decodeValue } from "./codec.ts";
import type { Disk, Row } from "./disk.ts";
import { nameOf } from "./errors.ts";
import { metadataOf, scanMetadata } from "./metadata.ts";
import { loadState } from "./recovery.ts";
import type { StoreKey } from "./store.ts";

/** The result of `slipway store check`. */
export interface CheckReport {
  readonly revision: number;
  readonly compacted: number;
  readonly objects: number;
  readonly records: number;
  /** One sentence each; empty for a valid store. */
  readonly findings: readonly string[];
}

const maxFindings = 1_000;

/** Stricter than start-up, then runs start-up's checks of the log. */
export function checkRows(disk: Disk): CheckReport {
  const findings: string[] = [];
  const found = (finding: string): void => {
    if (findings.length < maxFindings) findings.push(finding);
  };
  const keyByUid = new Map<string, StoreKey>();
  let [objects, records] = [0, 0];
  let isDamaged = false;
  const damaged = ({ message }: Error): void => {
    isDamaged = true;
    found(message);
  };
  const damagedObject = (damage: Error): void => {
    objects++;
    damaged(damage);
  };
  for (const row of disk.objects(damagedObject)) {
    objects++;
    attempt(found, () => checkObject(row, disk.meta.revision, keyByUid, found));
  }
  for (const _ of disk.records(damaged)) records++;
  // Loading stops at the first damaged row, which is reported already.
  if (!isDamaged) attempt(found, () => void loadState(disk, [], 0));
  const { revision, compacted } = disk.meta;
  return { revision, compacted, objects, records, findings };
}

function attempt(found: (finding: string) => void, step: () => void): void {
  try {
    step();
  } catch (thrown) {
    // A missing key is no damage.
    if (codeOf(thrown) === "encryption-key-missing") throw thrown;
    found(messageOf(thrown));
  }
}

/** `keyByUid` collects the uids: two objects with one uid would share their dependants. */
function checkObject(
  row: Row,
  revision: number,
  keyByUid: Map<string, StoreKey>,
  found: (finding: string) => void,
): void {
  const key = decodeKey(row.key);
  const name = nameOf(key);
  const value = decodeValue(row.value);
  if (value.revision > revision) found(`${name} has revision ${value.revision}, the store only ${revision}`);
  if (value.createRevision > value.revision)
    found(`${name} was created at ${value.createRevision}, after its last change`);
  const object: unknown = JSON.parse(value.json.toString("utf8"));
  if (!isJsonObject(object)) return found(`${name} is not a JSON object`);
  checkIdentity(key, object, found);
  const meta = metadataOf(object);
  if (!jsonEquals(meta, scanMetadata(value.json))) found(`${name} is indexed by other metadata than it has`);
  const twin = keyByUid.get(meta.uid);
  if (twin !== undefined) found(`${name} has the uid of ${nameOf(twin)}`);
  keyByUid.set(meta.uid, key);
}

/** Group and kind come from restored objects; any version is valid. */
function checkIdentity(key: StoreKey, object: JsonObject, found: (finding: string) => void): void {
  const { name, namespace, uid } = metadataOf(object);
  if (name !== key.name || namespace !== key.namespace) {
    found(`${nameOf(key)} holds an object named ${JSON.stringify(`${namespace}/${name}`)}`);
  }
  if (uid === "") found(`${nameOf(key)} has no uid`);
  const { apiVersion, kind } = object;
  if (typeof kind !== "string" || kind === "") found(`${nameOf(key)} has no kind`);
  const group = typeof apiVersion === "string" && apiVersion.includes("/") ? apiVersion.split("/")[0] : "";
  if (typeof apiVersion !== "string" || group !== key.group) {
    found(`${nameOf(key)} holds an object of apiVersion ${JSON.stringify(apiVersion)}`);
  }
}
