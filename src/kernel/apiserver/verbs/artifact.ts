import { ArtifactError, digestsIn, isDigest } from "#kernel/artifacts/index.ts";
import { ApiError, badRequest } from "#kernel/model/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import { answerObject } from "./answer.ts";
import type { ApiContext } from "./context.ts";
import { getObject } from "./get.ts";

export const hasArtifacts = ({ artifacts }: ApiContext, { type }: ServedResource): boolean =>
  artifacts?.kinds.some(({ group, kind }) => group === type.group && kind === type.kind) === true;

/** Only digests in the object's status: knowing others grants no access. Refusals come before the first chunk. */
export async function openArtifact(
  context: ApiContext,
  resource: ServedResource,
  target: { readonly namespace: string; readonly name: string },
  digest: string,
): Promise<AsyncIterable<Uint8Array>> {
  const { status } = answerObject(await getObject(context, resource, target));
  if (!isDigest(digest))
    throw badRequest(`digest must be sha256: and 64 hexadecimal digits, found ${JSON.stringify(digest)}`);
  const missing = `${resource.type.plural} "${target.name}" has no artifact of the digest ${digest}`;
  if (context.artifacts === undefined || !digestsIn(JSON.stringify(status ?? {})).includes(digest))
    throw new ApiError("NotFound", missing);
  return context.artifacts.read(target.namespace, digest).catch((thrown: unknown) => {
    if (thrown instanceof ArtifactError) throw new ApiError("NotFound", `${missing} any more`);
    throw thrown;
  });
}
