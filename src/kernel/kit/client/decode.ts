import { isJsonObject } from "#lib/base/index.ts";
import type { KubeObject, Stored } from "#kernel/model/index.ts";

/** A Status is one, too. */
export const isKubeObject = (value: unknown): value is KubeObject =>
  isJsonObject(value) &&
  typeof value["apiVersion"] === "string" &&
  typeof value["kind"] === "string" &&
  isJsonObject(value["metadata"]);

/** The API validated the object when it was written; the kit does not check it again. */
export const typed = <T extends KubeObject>(object: KubeObject): Stored<T> => object as Stored<T>;
