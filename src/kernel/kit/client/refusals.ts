import { ApiError, qualifiedResource, type ResourceType, type StatusCause } from "#kernel/model/index.ts";

// The refusals a Kubernetes API gives, in one place for everything that answers like one.

const subject = (type: ResourceType, name: string): string => `${qualifiedResource(type)} ${JSON.stringify(name)}`;
const detailsOf = (type: ResourceType, name: string) => ({ name, group: type.group, kind: type.plural });

export const notFound = (type: ResourceType, name: string): ApiError =>
  new ApiError("NotFound", `${subject(type, name)} not found`, { details: detailsOf(type, name) });

export const alreadyExists = (type: ResourceType, name: string): ApiError =>
  new ApiError("AlreadyExists", `${subject(type, name)} already exists`, { details: detailsOf(type, name) });

export const conflict = (type: ResourceType, name: string, why: string): ApiError =>
  new ApiError("Conflict", `${subject(type, name)} was not changed: ${why}`, { details: detailsOf(type, name) });

export const expired = (message: string, continueToken?: string): ApiError =>
  new ApiError("Expired", message, continueToken === undefined ? {} : { continueToken });

export const badRequest = (message: string): ApiError => new ApiError("BadRequest", message);

/** All causes at once; `field` paths are in Kubernetes notation. */
export function invalid(type: ResourceType, name: string, causes: readonly StatusCause[]): ApiError {
  const kind = type.group === "" ? type.kind : `${type.kind}.${type.group}`;
  const list = causes.map((cause) => `${cause.field ?? ""}: ${cause.message ?? ""}`).join(", ");
  return new ApiError("Invalid", `${kind} ${JSON.stringify(name)} is invalid: ${list}`, {
    details: { name, group: type.group, kind: type.kind, causes },
  });
}
