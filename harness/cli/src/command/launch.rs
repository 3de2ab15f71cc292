//! `cqldyno launch`: what starts loaders under an engine.

use anyhow::Result;
use clap::ValueEnum;

use crate::outcome::Outcome;
use crate::terminal;

/// Print a script for Slurm, or a manifest for Kubernetes, that starts loaders
///
/// harness/LOADERS.md says how to use them.
#[derive(clap::Args)]
pub struct Arguments {
    /// slurm: for sbatch; kubernetes: for kubectl
    #[arg(value_enum)]
    engine: Engine,
    /// How many loaders
    #[arg(long, value_name = "N", default_value = "4", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    loaders: u32,
}

#[derive(Clone, Copy, ValueEnum)]
enum Engine {
    Slurm,
    Kubernetes,
}

const SLURM: &str = r#"#!/bin/sh
#SBATCH --job-name=cqldyno
#SBATCH --nodes=LOADERS
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --time=01:00:00
# Submit it with `TARGET=10.0.0.1,10.0.0.2 sbatch FILE`. Edit the contenders and the size.
hosts=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | paste -sd,)
exec CQLDYNO compare scylla cdrs-tokio --target "${TARGET:?name the nodes of the cluster}" \
    --loaders "$hosts" --launch 'srun --overlap -N1 -n1 -w {host}' --turn all -n 10M
"#;

const POD: &str = r#"apiVersion: v1
kind: Pod
metadata:
  name: cqldyno-loader-NUMBER
  labels: {app: cqldyno-loader}
spec:
  restartPolicy: Never
  containers:
    - name: loader
      image: IMAGE # with cqldyno and the workers under the same paths as here
      command: [sleep, infinity]
      resources:
        requests: {cpu: "2", memory: 4Gi}
        limits: {cpu: "2", memory: 4Gi}
  affinity:
    podAntiAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        - topologyKey: kubernetes.io/hostname
          labelSelector: {matchLabels: {app: cqldyno-loader}}
"#;

pub fn run(arguments: &Arguments) -> Result<Outcome> {
    let number = arguments.loaders;
    let text = match arguments.engine {
        Engine::Slurm => {
            let cqldyno = std::env::current_exe()?.display().to_string();
            SLURM.replace("LOADERS", &number.to_string()).replace("CQLDYNO", &crate::repetition::quoted(&cqldyno))
        }
        Engine::Kubernetes => {
            let hosts: Vec<String> = (0..number).map(|nth| format!("cqldyno-loader-{nth}")).collect();
            let pods: Vec<String> = (0..number).map(|nth| POD.replace("NUMBER", &nth.to_string())).collect();
            format!(
                "# Create the pods with `kubectl set image --local -f FILE loader=IMAGE -o yaml | kubectl create -f -`, then:\n\
                 # cqldyno compare scylla --target NODES --loaders {} --launch 'kubectl exec -i {{host}} --'\n{}",
                hosts.join(","),
                pods.join("---\n")
            )
        }
    };
    terminal::print(&text)?;
    Ok(Outcome::Done)
}
