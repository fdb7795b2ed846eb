import { createRegistry, type DescFile, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import {
  type ServerReflectionRequest,
  type ServerReflectionResponseSchema,
  ServerReflection,
} from "./gen/grpc/reflection/v1/reflection_pb.js";
import { type RpcService, service } from "./service.ts";
import { statusCodes } from "./status.ts";

type Answer = NonNullable<MessageInitShape<typeof ServerReflectionResponseSchema>["messageResponse"]>;

/** Describes the server to programs such as grpcurl, under both names of the service. */
export function reflectionServices(services: readonly RpcService[]): readonly RpcService[] {
  const files = new Map(
    services.flatMap(({ descriptor }) => [...closure(descriptor.file)]).map((file) => [nameOf(file), file]),
  );
  const names = services.map(({ descriptor, name }) => name ?? descriptor.typeName);
  const registry = createRegistry(...files.values());
  const answer = ({ messageRequest: asked }: ServerReflectionRequest): Answer => {
    switch (asked.case) {
      case "listServices":
        return { case: "listServicesResponse", value: { service: names.map((name) => ({ name })) } };
      case "fileByFilename":
        return described(files.get(asked.value), `file ${asked.value}`);
      case "fileContainingSymbol":
        return described(fileOf(asked.value), asked.value);
      case "fileContainingExtension":
      case "allExtensionNumbersOfType":
      case undefined:
        return failed("there are no extensions here");
    }
  };
  const fileOf = (symbol: string): DescFile | undefined =>
    (registry.get(symbol) ?? registry.get(symbol.slice(0, Math.max(0, symbol.lastIndexOf(".")))))?.file;
  const handlers = {
    async serverReflectionInfo(
      requests: AsyncIterable<ServerReflectionRequest>,
      replies: { send(message: MessageInitShape<typeof ServerReflectionResponseSchema>): void },
    ) {
      for await (const request of requests)
        replies.send({ validHost: request.host, originalRequest: request, messageResponse: answer(request) });
    },
  };
  return [
    service(ServerReflection, handlers),
    service(ServerReflection, handlers, "grpc.reflection.v1alpha.ServerReflection"),
  ];
}

const nameOf = ({ proto }: DescFile): string => proto.name;

function closure(file: DescFile, seen = new Set<DescFile>()): Set<DescFile> {
  if (seen.has(file)) return seen;
  seen.add(file);
  for (const imported of file.dependencies) closure(imported, seen);
  return seen;
}

/** With imports, so that one answer suffices. */
const described = (file: DescFile | undefined, what: string): Answer =>
  file === undefined
    ? failed(`there is no ${what} here`)
    : {
        case: "fileDescriptorResponse",
        value: {
          fileDescriptorProto: [...closure(file)].map(({ proto }) => toBinary(FileDescriptorProtoSchema, proto)),
        },
      };

const failed = (errorMessage: string): Answer => ({
  case: "errorResponse",
  value: { errorCode: statusCodes.NOT_FOUND, errorMessage },
});
