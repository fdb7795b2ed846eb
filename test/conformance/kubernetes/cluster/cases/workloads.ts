import { type Case, eventually, refused } from "../suite/case.ts";
import { configMap, deployment, job, pod, statefulSet } from "./documents.ts";

const apps = ["deployments.apps", "replicasets.apps"];
const fails = (name: string, more: object = {}) => job(name, "exit 3", { backoffLimit: 0, ...more });
const waitFor = (condition: string, name: string) =>
  `kubectl wait --for=condition=${condition} job/${name} --timeout=100s`;
const reason = (name: string) =>
  `kubectl get job ${name} -o 'jsonpath={.status.conditions[?(@.type=="Failed")].reason}'`;

const rollouts: readonly Case[] = [
  {
    line: 21,
    name: "scale changes the number of Pods, and only from the number that is named",
    needs: apps,
    files: { "d.json": deployment("d", 1) },
    steps: [
      ["kubectl create -f d.json && kubectl rollout status deployment/d --timeout=100s", /successfully rolled out/],
      ["kubectl scale deployment/d --replicas=3", /deployment.apps\/d scaled/],
      ["kubectl get deployment d -o 'jsonpath={.status.readyReplicas}'", eventually("3")],
      ["kubectl get deployment d", /^NAME +READY +UP-TO-DATE +AVAILABLE +AGE\nd +3\/3 +3 +3 /],
      ["kubectl scale deployment/d --current-replicas=7 --replicas=2", refused(/[Ee]xpected replicas to be 7, was 3/)],
      ["kubectl scale deployment/d --replicas=0"],
      ["kubectl get pods -l app=d -o name | wc -l", eventually(/^ *0\n$/)],
    ],
  },
  {
    line: 21,
    name: "rollout status, history, restart and undo",
    needs: apps,
    files: { "d.json": deployment("d", 1) },
    steps: [
      ["kubectl create -f d.json && kubectl rollout status deployment/d --timeout=100s", /successfully rolled out/],
      [
        "kubectl set env deployment/d A=2 && kubectl rollout status deployment/d --timeout=100s",
        /successfully rolled out/,
      ],
      ["kubectl rollout history deployment/d", { out: [/^1 +<none>$/m, /^2 +<none>$/m] }],
      ["kubectl rollout undo deployment/d && kubectl rollout status deployment/d --timeout=100s", /rolled back/],
      ["kubectl get deployment d -o 'jsonpath={.spec.template.spec.containers[0].env}'", ""],
      ["kubectl rollout restart deployment/d && kubectl rollout status deployment/d --timeout=100s", /restarted/],
      ["kubectl get rs -o name | wc -l", /^ *3\n$/],
      ["kubectl get rs -l app=d -o 'jsonpath={.items[*].spec.replicas}' | tr ' ' '\\n' | sort | tr -d '\\n'", "001"],
    ],
  },
  {
    line: 21,
    name: "a paused rollout goes on when it is resumed",
    needs: apps,
    files: { "d.json": deployment("d", 1) },
    steps: [
      ["kubectl create -f d.json && kubectl rollout status deployment/d --timeout=100s"],
      ["kubectl rollout pause deployment/d", /paused/],
      ["kubectl set env deployment/d A=2"],
      ["kubectl get deployment d -o 'jsonpath={.status.updatedReplicas}'", eventually(/^0?$/)],
      [
        "kubectl rollout resume deployment/d && kubectl rollout status deployment/d --timeout=100s",
        /successfully rolled out/,
      ],
    ],
  },
];

const statefulApps = ["statefulsets.apps", "controllerrevisions.apps"];
const complete = /rolling update complete|partitioned roll out complete/;
const restarts = (resource: string) => `kubectl get ${resource} -o 'jsonpath={.metadata.uid}'`;

const statefulSets: readonly Case[] = [
  {
    line: 21,
    name: "Pods of a StatefulSet have names and an order; scale keeps the lowest",
    needs: statefulApps,
    files: { "s.json": statefulSet("s", 3) },
    steps: [
      ["kubectl create -f s.json && kubectl rollout status sts/s --timeout=100s", complete],
      ["kubectl get pods -l app=s -o name", "pod/s-0\npod/s-1\npod/s-2\n"],
      ["kubectl get pods -l app=s --sort-by=.status.startTime -o 'jsonpath={.items[*].metadata.name}'", "s-0 s-1 s-2"],
      ["kubectl get pod s-1 -o 'jsonpath={.spec.hostname} {.spec.subdomain}'", "s-1 s"],
      ["kubectl get sts s", /^NAME +READY +AGE\ns +3\/3 /],
      ["kubectl scale sts/s --replicas=1", /statefulset.apps\/s scaled/],
      ["kubectl get pods -l app=s -o name", eventually("pod/s-0\n")],
      [`${restarts("pod/s-0")} >one && kubectl delete pod s-0 --wait=false`],
      [`${restarts("pod/s-0")} 2>/dev/null | diff -q - one >/dev/null || echo another`, eventually("another\n")],
      ["kubectl rollout status sts/s --timeout=100s", complete],
    ],
  },
  {
    line: 21,
    name: "a StatefulSet's rollout: status, history, restart, undo, a partition",
    needs: statefulApps,
    files: { "s.json": statefulSet("s", 2) },
    steps: [
      ["kubectl create -f s.json && kubectl rollout status sts/s --timeout=100s", complete],
      ["kubectl set env sts/s A=2 && kubectl rollout status sts/s --timeout=100s", complete],
      ["kubectl get pods -l app=s -o 'jsonpath={.items[*].spec.containers[0].env[0].value}'", "2 2"],
      ["kubectl rollout history sts/s", { out: [/^1 +<none>$/m, /^2 +<none>$/m] }],
      ["kubectl rollout undo sts/s && kubectl rollout status sts/s --timeout=100s", /rolled back/],
      ["kubectl get pods -l app=s -o 'jsonpath={.items[*].spec.containers[0].env}'", ""],
      ["kubectl rollout restart sts/s && kubectl rollout status sts/s --timeout=100s", /restarted/],
      [`kubectl patch sts s -p '{"spec":{"updateStrategy":{"rollingUpdate":{"partition":1}}}}'`, /patched/],
      ["kubectl set env sts/s A=3 && kubectl rollout status sts/s --timeout=100s", /partitioned roll out complete/],
      ["kubectl get pods -l app=s -o 'jsonpath={.items[*].spec.containers[0].env[0].value}'", "3"],
      ["kubectl get pod s-1 -o 'jsonpath={.spec.containers[0].env[0].value}'", "3"],
    ],
  },
  {
    line: 21,
    name: "a StatefulSet's claims keep what a Pod wrote, and go when the set says so",
    embeddedOnly: "a cluster without a default StorageClass binds no claim",
    files: {
      "s.json": statefulSet("s", 1, {
        podManagementPolicy: "Parallel",
        persistentVolumeClaimRetentionPolicy: { whenDeleted: "Delete", whenScaled: "Retain" },
        volumeClaimTemplates: [
          {
            metadata: { name: "data" },
            spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Mi" } } },
          },
        ],
        template: {
          metadata: { labels: { app: "s" } },
          spec: {
            terminationGracePeriodSeconds: 1,
            containers: [
              {
                name: "main",
                image: "busybox",
                command: ["sh", "-c", "echo started >> /mnt/count; cat /mnt/count; exec sleep 3600"],
                volumeMounts: [{ name: "data", mountPath: "/mnt" }],
              },
            ],
          },
        },
      }),
    },
    steps: [
      ["kubectl create -f s.json && kubectl rollout status sts/s --timeout=100s", complete],
      ["kubectl logs s-0", eventually("started\n")],
      ["kubectl delete pod s-0"],
      ["kubectl logs s-0", eventually("started\nstarted\n")],
      ["kubectl get pvc -o name", "persistentvolumeclaim/data-s-0\n"],
      ["kubectl delete sts s"],
      ["kubectl get pvc -o name", eventually("")],
    ],
  },
];

const logs: readonly Case[] = [
  {
    line: 22,
    name: "logs: whole, the tail, with times, since, of one container, of a selector, of a Job",
    files: {
      "p.json": pod("p", "for n in 1 2 3; do echo $n; done", {}, { labels: { l: "1" } }),
      "j.json": job("j", "echo job"),
      "two.json": pod("two", "", {
        containers: ["a", "b"].map((name) => ({ name, image: "busybox", command: ["sh", "-c", `echo ${name}`] })),
      }),
    },
    steps: [
      ["kubectl create -f p.json -f j.json -f two.json"],
      ["kubectl get pod p two -o 'jsonpath={.items[*].status.phase}'", eventually("Succeeded Succeeded")],
      ["kubectl logs p", "1\n2\n3\n"],
      ["kubectl logs p --tail=1", "3\n"],
      ["kubectl logs p --since=1h --tail=-1", "1\n2\n3\n"],
      ["kubectl logs p --since=1s --tail=-1", eventually(/^$/)],
      ["kubectl logs p --limit-bytes=2", /^1\n/],
      ["kubectl logs p --timestamps", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z 1\n/],
      ["kubectl logs two -c b", "b\n"],
      ["kubectl logs two -c nonsense", refused(/container nonsense is not valid for pod two/)],
      ["kubectl logs two --all-containers | sort", "a\nb\n"],
      ["kubectl logs -l l=1 --prefix", /^\[pod\/p\/main\] 1\n/],
      // Of a container that has not started yet there are no logs, and kubectl waits for a Pod only, not for its start.
      ["kubectl get pods -l job-name=j -o 'jsonpath={.items[*].status.phase}'", eventually(/Running|Succeeded/)],
      ["kubectl logs -f job/j --pod-running-timeout=60s", "job\n"],
    ],
  },
  {
    line: 22,
    name: "logs -f follows to the end",
    files: { "p.json": pod("p", "for n in 1 2 3; do echo $n; sleep 0.2; done") },
    steps: [
      ["kubectl create -f p.json"],
      ["kubectl get pod p -o 'jsonpath={.status.phase}'", eventually(/Running|Succeeded/)],
      ["kubectl logs -f p", "1\n2\n3\n"],
    ],
  },
  {
    line: 22,
    name: "logs --previous shows the try before",
    files: { "p.json": pod("p", "echo try; sleep 0.2; exit 1", { restartPolicy: "OnFailure" }) },
    steps: [
      ["kubectl create -f p.json"],
      ["kubectl get pod p -o 'jsonpath={.status.containerStatuses[0].restartCount}'", eventually(/^[1-9]/)],
      ["kubectl logs p --previous", "try\n"],
      ["kubectl delete pod p --now"],
    ],
  },
];

const jobs: readonly Case[] = [
  {
    line: 23,
    name: "a Job is made from a CronJob, and succeeds",
    needs: ["cronjobs.batch"],
    since: 21,
    steps: [
      ["kubectl create cronjob c --image=busybox --schedule='0 0 1 1 *' -- true"],
      ["kubectl get cronjob c", /^NAME +SCHEDULE .*\nc +0 0 1 1 \* /],
      ["kubectl create job once --from=cronjob/c", "job.batch/once created\n"],
      [waitFor("complete", "once")],
      ["kubectl get job once -o 'jsonpath={.metadata.ownerReferences[0].kind}'", "CronJob"],
    ],
  },
  {
    line: 23,
    name: "a Job fails when its retries or its time are used up",
    files: {
      "retries.json": fails("retries"),
      "late.json": job("late", "exec sleep 60", { activeDeadlineSeconds: 1 }),
    },
    steps: [
      ["kubectl create -f retries.json -f late.json"],
      [waitFor("failed", "retries")],
      [reason("retries"), "BackoffLimitExceeded"],
      [waitFor("failed", "late")],
      [reason("late"), "DeadlineExceeded"],
    ],
  },
  {
    line: 23,
    name: "three at a time until seven have succeeded; each index once",
    files: {
      "seven.json": job("seven", "true", { parallelism: 3, completions: 7 }),
      "index.json": job("index", "echo $JOB_COMPLETION_INDEX", {
        completions: 3,
        parallelism: 3,
        completionMode: "Indexed",
      }),
    },
    steps: [
      ["kubectl create -f seven.json -f index.json"],
      [waitFor("complete", "seven")],
      ["kubectl get job seven -o 'jsonpath={.status.succeeded}'", "7"],
      ["kubectl get job seven", /^NAME .*\nseven +(Complete +)?7\/7 /],
      [waitFor("complete", "index")],
      ["kubectl get job index -o 'jsonpath={.status.completedIndexes}'", "0-2"],
      ["kubectl logs -l job-name=index | sort", "0\n1\n2\n"],
    ],
  },
  {
    line: 23,
    name: "a Job goes away some time after its end",
    files: { "j.json": job("j", "true", { ttlSecondsAfterFinished: 0 }) },
    steps: [
      ["kubectl create -f j.json"],
      ["kubectl get jobs,pods -o name", { ...eventually(""), err: /No resources|^$/ }],
    ],
  },
  {
    line: 23,
    name: "a suspended Job has no Pods until it is resumed",
    files: { "j.json": job("j", "true", { suspend: true }) },
    steps: [
      ["kubectl create -f j.json"],
      [waitFor("Suspended", "j")],
      ["kubectl get pods -o name", ""],
      [`kubectl patch job j --type=merge -p '{"spec":{"suspend":false}}'`],
      [waitFor("complete", "j")],
    ],
  },
  {
    line: 23,
    name: "a policy for failed Pods fails a Job at once, or does not count the failure",
    files: {
      "fail.json": job("fail", "exit 42", {
        backoffLimit: 6,
        podFailurePolicy: { rules: [{ action: "FailJob", onExitCodes: { operator: "In", values: [42] } }] },
      }),
      "ignore.json": job("ignore", "exit 42", {
        backoffLimit: 0,
        podFailurePolicy: { rules: [{ action: "Ignore", onExitCodes: { operator: "In", values: [42] } }] },
      }),
    },
    steps: [
      ["kubectl create -f fail.json -f ignore.json"],
      [waitFor("failed", "fail")],
      [reason("fail"), "PodFailurePolicy"],
      ["kubectl get pods -l job-name=ignore -o 'jsonpath={.items[*].status.phase}'", eventually(/Failed/)],
      [reason("ignore"), ""],
      ["kubectl delete job ignore"],
    ],
  },
];

const environment = [
  { name: "PLAIN", value: "a $(OTHER)" },
  { name: "FROM_MAP", valueFrom: { configMapKeyRef: { name: "c", key: "k" } } },
  { name: "FROM_SECRET", valueFrom: { secretKeyRef: { name: "s", key: "k" } } },
  { name: "WHO", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
];

const pods: readonly Case[] = [
  {
    line: 24,
    name: "environment of values, ConfigMaps, Secrets and the Pod's own fields",
    files: {
      "c.json": configMap("c", { k: "map", ALL: "all" }),
      "p.json": pod("p", "", {
        containers: [
          {
            name: "main",
            image: "busybox",
            command: ["sh", "-c", "echo $PLAIN, $FROM_MAP, $FROM_SECRET, $WHO, $ALL"],
            env: [{ name: "OTHER", value: "b" }, ...environment],
            envFrom: [{ configMapRef: { name: "c" } }],
          },
        ],
      }),
    },
    steps: [
      [
        "kubectl create -f c.json && kubectl create secret generic s --from-literal=k=secret && kubectl create -f p.json",
      ],
      ["kubectl get pod p -o 'jsonpath={.status.phase}'", eventually("Succeeded")],
      ["kubectl logs p", "a b, map, secret, p, all\n"],
    ],
  },
  {
    line: 24,
    name: "init containers run in order before the others, and a folder is shared",
    files: {
      "p.json": pod("p", "", {
        volumes: [{ name: "v", emptyDir: {} }],
        initContainers: ["one", "two"].map((name) => ({
          name,
          image: "busybox",
          command: ["sh", "-c", `echo ${name} >>/shared/order`],
          volumeMounts: [{ name: "v", mountPath: "/shared" }],
        })),
        containers: [
          {
            name: "main",
            image: "busybox",
            command: ["sh", "-c", "cat /shared/order"],
            volumeMounts: [{ name: "v", mountPath: "/shared" }],
          },
        ],
      }),
    },
    steps: [
      ["kubectl create -f p.json"],
      ["kubectl get pod p -o 'jsonpath={.status.phase}'", eventually("Succeeded")],
      ["kubectl logs p", "one\ntwo\n"],
      ["kubectl logs p -c one", ""],
    ],
  },
  {
    line: 24,
    name: "a container that fails is started again after a while, and says why",
    files: {
      "p.json": pod("p", "", {
        restartPolicy: "OnFailure",
        containers: [
          {
            name: "main",
            image: "busybox",
            command: ["sh", "-c", "echo the end >&2; exit 4"],
            terminationMessagePolicy: "FallbackToLogsOnError",
          },
        ],
      }),
    },
    steps: [
      ["kubectl create -f p.json"],
      [
        "kubectl get pod p -o 'jsonpath={.status.containerStatuses[0].state.waiting.reason}'",
        eventually("CrashLoopBackOff"),
      ],
      ["kubectl get pod p -o json", { out: [/"exitCode": 4/, /"message": "the end\\n"/] }],
      // Meanwhile it may be running once more.
      ["kubectl get pod p", eventually(/^NAME .*\np +0\/1 +(CrashLoopBackOff|Error) +[1-9]/)],
      ["kubectl delete pod p --now"],
    ],
  },
  {
    line: 49,
    name: "a container whose program is missing does not run, and says so",
    files: {
      "p.json": pod("p", "", { containers: [{ name: "main", image: "busybox", command: ["/no/such/program"] }] }),
    },
    steps: [
      ["kubectl create -f p.json"],
      [
        "kubectl get pod p -o 'jsonpath={.status.containerStatuses[0]}'",
        // By the runtime: containerd and Docker have words of their own for what follows.
        eventually(/RunContainerError|StartError|ContainerCannotRun/),
      ],
      ["kubectl delete pod p --now"],
    ],
  },
  {
    line: 24,
    name: "a Pod waits for a ConfigMap that is missing, and says so",
    files: {
      "p.json": pod("p", "", {
        containers: [
          { name: "main", image: "busybox", command: ["true"], envFrom: [{ configMapRef: { name: "missing" } }] },
        ],
      }),
    },
    steps: [
      ["kubectl create -f p.json"],
      [
        "kubectl get pod p -o 'jsonpath={.status.containerStatuses[0].state.waiting.reason}'",
        eventually("CreateContainerConfigError"),
      ],
      ["kubectl create cm missing"],
      ["kubectl get pod p -o 'jsonpath={.status.phase}'", eventually("Succeeded")],
    ],
  },
  {
    line: 24,
    name: "a Pod of an account that does not exist is refused, and its Job says so",
    files: {
      "p.json": pod("p", "true", { serviceAccountName: "builder" }),
      "j.json": {
        ...job("j", "true"),
        spec: { template: { spec: { ...pod("p", "true").spec, serviceAccountName: "builder" } } },
      },
    },
    steps: [
      [
        "kubectl create -f p.json",
        refused(/pods "p" is forbidden: error looking up service account .*: serviceaccount "builder" not found/),
      ],
      ["kubectl create -f j.json"],
      ["kubectl get events --field-selector reason=FailedCreate -o name | wc -l", eventually(/^ *[1-9]/)],
      ["kubectl create serviceaccount builder && kubectl create -f p.json"],
      [waitFor("complete", "j")],
    ],
  },
  {
    line: 26,
    name: "what cannot be done to Pods is refused by name",
    embeddedOnly: "other servers do it",
    files: { "p.json": pod("p", "exec sleep 60") },
    steps: [
      ["kubectl create -f p.json && kubectl wait --for=condition=Ready pod/p --timeout=60s"],
      ["kubectl port-forward p 1:1", { code: 1, err: /served over WebSockets only/ }],
      ["kubectl delete pod p --now"],
    ],
  },
  {
    line: 26,
    name: "commands run in Pods with their streams and codes, on a terminal too, and what they print is followed",
    // Earlier ones speak SPDY.
    since: 30,
    files: { "p.json": pod("p", "while :; do echo tick; sleep 1; done") },
    steps: [
      ["kubectl create -f p.json && kubectl wait --for=condition=Ready pod/p --timeout=60s"],
      ["kubectl exec p -- sh -c 'echo out; echo err >&2; exit 3'", { code: 3, out: "out\n", err: /^err$/m }],
      ["head -c 3000000 /dev/zero | kubectl exec -i p -- wc -c", /^ *3000000$/m],
      ["kubectl exec p -c none -- true", { code: 1, err: /container none is not valid for pod p/ }],
      ["kubectl exec nobody -- true", { code: 1, err: /pods "nobody" not found/ }],
      ["script -qec 'kubectl exec -it p -- tty' /dev/null", /\/dev\/pts\/\d+\r?$/m],
      ["timeout 100 sh -c 'kubectl attach p | head -n 2'", /tick\ntick/],
      ["kubectl delete pod p --now"],
    ],
  },
];

export const workloadCases: readonly Case[] = [...rollouts, ...statefulSets, ...logs, ...jobs, ...pods];
