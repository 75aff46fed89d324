"""How the tests' sessions of Spark are set, so that planning, which takes nearly all of their time, takes the least."""

from __future__ import annotations

CONNECT = "org.apache.spark.sql.connect.SparkConnectPlugin"  # the server of Spark Connect, inside the driver
UNVERIFIED = "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"  # PySpark's own classes need no proof
# These processes do not live long enough to be optimised.
QUICK_START = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC {UNVERIFIED}"
ROOMY = "-Xms512m -Xmn320m -XX:MetaspaceSize=256m"  # plans live briefly: few outlive a search for garbage
SPARK = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.extraJavaOptions": f"{QUICK_START} {ROOMY}",
    "spark.executor.extraJavaOptions": QUICK_START,
    "spark.buffer.pageSize": "256k",  # what every join and every aggregation fills with zeros first, else 16 MB
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",  # compiling a plan takes longer than running it on three rows
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.ui.explainMode": "simple",  # how plans are described for pages that nobody looks at
    "spark.sql.ui.retainedExecutions": "1",
    "spark.ui.enabled": "false",
    "spark.ui.liveUpdate.period": "-1",
    "spark.ui.retainedJobs": "1",
    "spark.ui.retainedStages": "1",
    "spark.ui.retainedTasks": "1",
    "spark.ui.showConsoleProgress": "false",
}
# Adaptive execution plans anew after every stage; the cluster still has it.
ONE_PROCESS = SPARK | {"spark.default.parallelism": "2", "spark.sql.adaptive.enabled": "false"}
