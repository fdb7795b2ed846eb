import { mkdir, readFile } from "node:fs/promises";
import { create, toBinary, workflowV2 } from "#kernel/rpc/index.ts";
import { Server, ServerCredentials, type ServerWritableStream } from "@grpc/grpc-js";
import { longestHold } from "../harness/loop-delay.ts";
import { atRate, type PacedLoad, type PacedWrites } from "../harness/open-loop.ts";
import { actionCount, agentName, type AgentServer, requireFiles, tlsFiles, workflowName } from "../ours/agents.ts";

// Floor of B5: the same service on grpc-js and nothing behind it. An assignment is one message on the agent's stream; events are answered and
// counted. Nothing is stored.

const streams = new Map<string, ServerWritableStream<Uint8Array, Uint8Array>>();
let events = 0;

export async function start({ dir, port = 0, isTls, agents }: AgentServer): Promise<{ readonly port: number }> {
  requireFiles(agents);
  await mkdir(dir, { recursive: true });
  const server = new Server();
  const { getWorkflows, publishEvent } = workflowV2.WorkflowService.method;
  const path = (name: string): string => `/${workflowV2.WorkflowService.typeName}/${name}`;
  const bytes = {
    requestSerialize: asBuffer,
    requestDeserialize: (value: Buffer) => value,
    responseSerialize: asBuffer,
    responseDeserialize: (value: Buffer) => value,
  };
  server.addService(
    {
      getWorkflows: { path: path(getWorkflows.name), requestStream: false, responseStream: true, ...bytes },
      publishEvent: { path: path(publishEvent.name), requestStream: false, responseStream: false, ...bytes },
    },
    {
      getWorkflows(call: ServerWritableStream<Uint8Array, Uint8Array>) {
        // Field 1, the only one: a tag, the length, the text.
        streams.set(Buffer.from(call.request.subarray(2)).toString(), call);
        call.sendMetadata(call.metadata.clone());
      },
      publishEvent(_call: unknown, answer: (thrown: null, message: Uint8Array) => void) {
        events++;
        answer(null, new Uint8Array());
      },
    },
  );
  return { port: await bind(server, `127.0.0.1:${port}`, await credentialsOf(dir, isTls)) };
}

async function credentialsOf(dir: string, isTls: boolean): Promise<ServerCredentials> {
  if (!isTls) return ServerCredentials.createInsecure();
  const { certificate, key } = await tlsFiles(dir);
  const pair = { cert_chain: await readFile(certificate), private_key: await readFile(key) };
  return ServerCredentials.createSsl(null, [pair]);
}

const bind = (server: Server, address: string, credentials: ServerCredentials): Promise<number> =>
  new Promise((resolve, reject) => {
    server.bindAsync(address, credentials, (thrown, port) => (thrown === null ? resolve(port) : reject(thrown)));
  });

const asBuffer = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

let created = 0;

export async function assign({ agents, ...load }: PacedLoad & { readonly agents: number }): Promise<PacedWrites> {
  const first = created;
  events = 0;
  const figures = await atRate(load, () => {
    const at = created++;
    streams.get(agentName(at % agents))?.write(startMessage(at));
  });
  return { first, ...figures };
}

function startMessage(at: number): Uint8Array {
  const workflow = {
    workflowId: `default/${workflowName(at)}/00000000-0000-7000-8000-000000000000`,
    actions: Array.from({ length: actionCount }, (_, action) => ({
      id: `id-${action}`,
      name: `action ${action}`,
      image: "quay.io/tinkerbell/actions/writefile:latest",
      args: ["/usr/bin/writefile"],
      env: { DEST_DISK: `/dev/nvme0n1p${action}`, FS_TYPE: "ext4", MODE: "0644" },
      volumes: ["/dev:/dev"],
    })),
  };
  const schema = workflowV2.GetWorkflowsResponseSchema;
  return toBinary(schema, create(schema, { cmd: { case: "startWorkflow", value: { workflow } } }));
}

export function clear({ writes }: Pick<PacedWrites, "writes">): void {
  if (events !== 2 * actionCount * writes) throw new Error(`${events} events of ${writes} workflows`);
}

export const held = (): number => longestHold();
