"""Settings of ReFrame for this machine; a site has its own."""

site_configuration = {
    "systems": [
        {
            "name": "here",
            "descr": "this machine",
            "hostnames": [".*"],
            "partitions": [
                {
                    "name": "default",
                    "scheduler": "local",
                    "launcher": "mpiexec",
                    "environs": ["builtin"],
                    "max_jobs": 1,  # two at once would measure each other
                }
            ],
        }
    ],
}
