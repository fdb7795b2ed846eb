// Records what real clients send for the same command: the protobuf body of a kubectl of 1.32 or newer beside the JSON body of an
// older one. Prints the cases as they are kept in recorded.json:
//   node test/conformance/kubernetes/protobuf/record.mjs /path/to/kubectl-1.33 /path/to/kubectl-1.31 > recorded.json
import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { promisify } from "node:util";

const commands = [
  "create namespace shop",
  "create configmap settings --from-literal=colour=blue --from-literal=size=",
  "create secret generic keys --from-literal=password=hunter2",
  "create secret docker-registry pull --docker-server=registry.example --docker-username=u --docker-password=p",
  "create serviceaccount robot",
  "create job once --image=example/image:1 -- sh -c exit",
  "create cronjob nightly --image=example/image:1 --schedule=0_3_*_*_* -- true",
  "create deployment web --image=example/web:1 --replicas=3 --port=8080",
  "create service clusterip web --tcp=80:8080",
  "create service nodeport web --tcp=80:8080 --node-port=30080",
  "create service externalname db --external-name=db.example",
  "create role reader --verb=get,list --resource=pods,pods/log --resource-name=one",
  "create rolebinding reader --role=reader --user=ann --serviceaccount=default:robot",
  "create clusterrole watcher --verb=watch --resource=jobs.batch",
  "create clusterrole scraper --verb=get --non-resource-url=/metrics",
  "create clusterrolebinding watcher --clusterrole=watcher --group=team",
  "create quota small --hard=pods=3,requests.cpu=500m",
  "create ingress site --rule=example.org/path*=web:80,tls=cert",
  "create token robot --duration=10m --audience=api",
  "auth can-i create pods --namespace=shop",
  "auth can-i --list",
  "auth whoami",
];

const writes = new Set(["POST", "PUT"]);

/** As much of discovery as it takes to name a resource in a role. */
const discovery = {
  "/api": { kind: "APIVersions", versions: ["v1"] },
  "/apis": { kind: "APIGroupList", apiVersion: "v1", groups: [group("batch", "v1")] },
  "/api/v1": resources("v1", "pods", "pods/log"),
  "/apis/batch/v1": resources("batch/v1", "jobs"),
};

function group(name, version) {
  const preferredVersion = { groupVersion: `${name}/${version}`, version };
  return { name, versions: [preferredVersion], preferredVersion };
}

function resources(groupVersion, ...names) {
  const kindOf = (name) => (name.startsWith("pods") ? "Pod" : "Job");
  const listed = names.map((name) => ({ name, kind: kindOf(name), namespaced: true, verbs: ["get", "list", "watch"] }));
  return { kind: "APIResourceList", apiVersion: "v1", groupVersion, resources: listed };
}

const absent = { kind: "Status", apiVersion: "v1", status: "Failure", code: 404 };

let sent;

const server = createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const isWrite = writes.has(request.method);
    if (isWrite)
      sent = { path: request.url.split("?")[0], body: Buffer.concat(chunks), type: request.headers["content-type"] };
    // An empty object is what every command here can print or choke on after it has said what it wanted to.
    const found = discovery[request.url.split("?")[0]];
    response.writeHead(isWrite ? 201 : found === undefined ? 404 : 200, { "content-type": "application/json" });
    response.end(isWrite ? "{}" : JSON.stringify(found ?? absent));
  });
});
server.listen(0, "127.0.0.1");
await once(server, "listening");
const url = `http://127.0.0.1:${server.address().port}`;

/** What this kubectl sends for a command; a `_` stands for a space inside an argument. */
async function record(kubectl, command) {
  sent = undefined;
  const args = command.split(" ").map((each) => each.replaceAll("_", " "));
  const validate = args[0] === "create" && args[1] !== "token" ? ["--validate=ignore"] : [];
  const options = { env: { HOME: "/nonexistent", PATH: "" }, timeout: 20_000 };
  await promisify(execFile)(kubectl, [`--server=${url}`, "--token=t", ...args, ...validate], options).catch(
    () => undefined,
  );
  return sent;
}

const [newer, older] = process.argv.slice(2);
const cases = [];
for (const command of commands) {
  const protobuf = await record(newer, command);
  const json = await record(older, command);
  const isUsable = protobuf?.type === "application/vnd.kubernetes.protobuf" && json?.type === "application/json";
  if (!isUsable) process.stderr.write(`left out: ${command} (${protobuf?.type} and ${json?.type})\n`);
  else
    cases.push({
      command,
      path: protobuf.path,
      protobuf: protobuf.body.toString("base64"),
      json: JSON.parse(json.body.toString()),
    });
}
server.close();
process.stdout.write(`[\n${cases.map((each) => JSON.stringify(each)).join(",\n")}\n]\n`);
